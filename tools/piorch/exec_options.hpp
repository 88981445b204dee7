// The command line of `piorch exec` as a value. Pure.
#pragma once

#include "config/patterns.hpp"
#include "config/result.hpp"
#include "tools/piorch/options.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace piorch::cli {

enum class ask_mode {
  on_a_terminal, // neither --ask nor --no-ask
  always,
  never,
};

struct exec_options {
  std::string cwd; // as given, may be relative; "": the current directory
  std::optional<std::chrono::milliseconds> timeout;
  std::vector<std::string> allow_read; // as given, may be relative to where piorch was started
  std::vector<config::domain_pattern> allow_domains;
  std::vector<config::domain_pattern> deny_domains;
  std::vector<std::uint16_t> allow_local_ports;
  std::vector<std::pair<std::string, std::string>> env; // in order: a later one overrides
  bool clear_env = false;
  ask_mode ask = ask_mode::on_a_terminal;
  std::string shell;  // absolute; "": the default one
  std::string report; // as given; "": no report

  // Exactly one of the two: a program with its arguments, or text for the shell.
  std::vector<std::string> argv;
  std::optional<std::string> command_string;
};

// The options for parse_options and help.
extern const option_list exec_option_list;

// failure::usage with one line that names the option and what it accepts. Looks
// at nothing but the words: whether a path exists is for the caller to find out.
result<exec_options> parse_exec_options(const arguments& args);

} // namespace piorch::cli
