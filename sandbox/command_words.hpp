// The words of a shell command, as far as finding the names of files in it needs them: more of
// them rather than fewer, nothing is run or expanded. Pure; any thread.
#pragma once

#include <string>
#include <vector>

namespace piorch::sandbox {

struct command_word {
  std::string text; // without quotes; `unknown` stands for what a shell would put there
  // The command that it is an argument of, or a part of an argument; empty: it is the program.
  std::string program;
};

// What stands for $x, ${x}, $(...) and `...`.
inline constexpr char unknown = '\1';

// Also those of commands in quotes and in $(...), to some depth.
std::vector<command_word> words_of(const std::string& command);

// The names of files that a word can be: itself, what follows a "=", and where it begins with
// something unknown every part behind a "/".
std::vector<std::string> names_in(const std::string& word);

} // namespace piorch::sandbox
