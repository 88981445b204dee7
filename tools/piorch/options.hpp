// Options of the sub-commands: a table per command and what was found on the
// command line. The only user of cxxopts, whose header costs seconds to compile.
#pragma once

#include "config/result.hpp"

#include <array>
#include <cstddef>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace piorch::cli {

// The words after the name of the sub-command.
using arguments = std::vector<std::string>;

struct option {
  char letter;            // 0: none
  std::string_view name;  // without the dashes, at least two characters
  std::string_view value; // what help calls its value; "": it takes none
  std::string_view help;
};

// A table that lives elsewhere, in static storage.
template <class Row> class table_of {
public:
  constexpr table_of() = default;
  template <std::size_t Count>
  constexpr table_of(const Row (&rows)[Count]) : first_(rows), count_(Count) {}
  template <std::size_t Count>
  constexpr table_of(const std::array<Row, Count>& rows) : first_(rows.data()), count_(Count) {}

  constexpr const Row* begin() const { return first_; }
  constexpr const Row* end() const { return first_ + count_; }

private:
  const Row* first_ = nullptr;
  std::size_t count_ = 0;
};

using option_list = table_of<option>;

class parsed_options {
public:
  bool has(std::string_view name) const { return last(name) != nullptr; }
  // The value given last, which overrides the earlier ones; nullptr if none was.
  const std::string* last(std::string_view name) const;
  // All values, in the order given.
  std::vector<std::string> all(std::string_view name) const;

  std::vector<std::pair<std::string, std::string>> given; // long name and value, in order
  arguments words;        // neither options nor their values, before "--"
  arguments rest;         // everything after "--", verbatim
  bool separated = false; // there was a "--"
};

// Reads options and words in any order up to "--". `--name VALUE`,
// `--name=VALUE`, `-n VALUE`, `-nVALUE` and grouped letters are understood; a
// value may start with a dash. failure::usage with one line for an unknown
// option or a missing value.
result<parsed_options> parse_options(option_list known, const arguments& args);

// Likewise for a command that takes exactly one word, not an empty one, and nothing after "--";
// `expected` says what is missing otherwise.
result<parsed_options> parse_one_word(option_list known, const arguments& args,
                                      std::string_view expected);

// Is --help or -h among the options, whatever else may be wrong with them?
bool wants_help(option_list known, const arguments& args);

// The table as help text, one option a line.
std::string describe(option_list known);

} // namespace piorch::cli
