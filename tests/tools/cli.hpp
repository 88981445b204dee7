// The program itself, started as a person would: with a home of its own, which is
// also the current directory.
#pragma once

#include "tests/config/temp_dir.hpp"
#include "tests/support/read_file.hpp"

#include <cstdlib>
#include <gtest/gtest.h>
#include <string>
#include <sys/wait.h>

namespace piorch::cli {

struct outcome {
  int status = -1;
  std::string out;
  std::string err;
};

class Cli : public testing::Test {
protected:
  // `words` are shell words after the program's name; `environment` assignments before it.
  outcome run(const std::string& words, const std::string& environment = "") const {
    const std::string script =
        "cd '" + home.path().string() + "' && env -u NO_COLOR HOME=\"$PWD\" " + environment +
        " '" PIORCH_BUILD_DIR "/bin/piorch' " + words + " 2>err </dev/null " +
        (words.find('>') == std::string::npos ? ">out" : "");
    const int raw = std::system(script.c_str());
    return {WIFEXITED(raw) ? WEXITSTATUS(raw) : -1, test::read_file(home.path() / "out"),
            test::read_file(home.path() / "err")};
  }

  config::temp_dir home;
  const std::string trusted = ".pi/agent/extensions/pi-sandbox/config.json";
  const std::string legacy = ".pi/agent/pi-sandbox.json";
};

} // namespace piorch::cli
