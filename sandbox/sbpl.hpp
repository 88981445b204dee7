// Words of the Seatbelt profile language (SBPL): strings and path expressions,
// escaped so that no path can become syntax. Pure; any thread.
#pragma once

#include <string>
#include <string_view>

namespace piorch::sandbox::sbpl {

// Can `text` be written as a string exactly: UTF-8 without control characters?
bool is_plain(std::string_view text);

// `text` as a string of the language. Only for text that is_plain().
std::string string(std::string_view text);

// Free text for (with message …): what is not plain is replaced.
std::string message(std::string_view text);

// The body of a regular expression for every spelling of `path` that a file
// system which ignores case and normalises (APFS) takes for the same. What
// cannot be spelled out surely matches any text without a slash: too much, which
// is right in a rule that denies and wrong in one that allows.
std::string any_case(std::string_view path);

// A regular expression of ours with every letter outside brackets in both cases.
std::string fold_case(std::string_view expression);

// (regex #"^BODY") with `tail` before the closing quote; BODY from any_case.
std::string regex(std::string_view body, std::string_view tail);

} // namespace piorch::sandbox::sbpl
