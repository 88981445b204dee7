// The check that an "xn--" label is what an honest IDNA encoder would produce.
// Pure, any thread.
#pragma once

#include <string>
#include <string_view>

namespace piorch::sandbox::network {

// `label` is lower-case ASCII and begins with "xn--". True if it decodes
// (RFC 3492), encodes back to itself, and holds at least one code point beyond
// ASCII and none of the kinds that IDNA maps away or forbids because they make one
// name look like another: controls, full-width forms, dots in disguise,
// bidirectional and other invisible characters. Not all of IDNA's tables.
bool is_valid_a_label(std::string_view label);

// The code points an A-label stands for; empty if it is malformed.
std::u32string decode_a_label(std::string_view label);

} // namespace piorch::sandbox::network
