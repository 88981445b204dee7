// A program on a terminal of its own, as the session leader that a terminal emulator
// starts; the test is the person in front of it.
#pragma once

#include "ipc/unique_fd.hpp"
#include "tests/support/run.hpp"

#include <string>

namespace piorch::test {

class terminal {
public:
  // `what.input` and the like do not apply: everything goes through the terminal.
  explicit terminal(program what, int rows = 24, int columns = 80);
  ~terminal();
  terminal(const terminal&) = delete;
  terminal& operator=(const terminal&) = delete;

  void type(const std::string& text) const;
  void resize(int rows, int columns) const;
  // Reads the screen until `text` appears after what earlier calls have found.
  // False at the end or when the time is over.
  bool sees(const std::string& text, milliseconds limit = milliseconds(15000));
  // Everything that was on the screen so far.
  const std::string& screen() const { return screen_; }
  // Waits for the program; its status as in `finished`, -1 when it is overdue.
  int end(milliseconds limit = milliseconds(15000));
  pid_t pid() const { return pid_; }

private:
  bool read_some(milliseconds limit);

  ipc::unique_fd master_;
  pid_t pid_ = -1;
  std::string screen_;
  std::size_t seen_ = 0;
};

} // namespace piorch::test
