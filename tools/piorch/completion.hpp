// What may stand at one place of a command line: for the shells' completion. Everything
// is read off the help of the commands, so a new one needs nothing here. Pure; any thread.
#pragma once

#include "tools/piorch/commands.hpp"

namespace piorch::cli {

struct candidate {
  std::string text;
  std::string description; // may be empty
};

struct completion {
  std::vector<candidate> words;
  // What else fits here, and only the caller knows.
  enum class kind {
    nothing,
    files,
    directories,
    program,
    live_sessions,
    sessions,
    sessions_and_files,
    approvals
  };
  kind also = kind::nothing;
  bool command_ids = false; // and those of what runs
  // Stands before the word as typed ("--cwd=" of "--cwd=src").
  std::string prefix;
};

// `words` follow the program's name; the last one is being typed and may be empty. Bash
// hands out "--name=value" as three words; that is understood too.
completion complete(arguments words);

} // namespace piorch::cli
