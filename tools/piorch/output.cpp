#include "tools/piorch/output.hpp"

#include "config/terminal.hpp"
#include "config/text.hpp"
#include "orchestration/report.hpp"
#include "tools/piorch/exit_status.hpp"
#include <algorithm>

#include <cerrno>
#include <cstdlib>
#include <cstring>
#include <poll.h>
#include <unistd.h>

namespace piorch::cli {

namespace {

// 0, or the errno of the write that failed. A descriptor that somebody made
// non-blocking is waited for.
int write_all(int fd, std::string_view text) {
  while (!text.empty()) {
    const ssize_t count = ::write(fd, text.data(), text.size());
    if (count >= 0) {
      text.remove_prefix(static_cast<std::size_t>(count));
    } else if (errno == EAGAIN) {
      pollfd writable{fd, POLLOUT, 0};
      if (::poll(&writable, 1, -1) < 0 && errno != EINTR)
        return errno;
    } else if (errno != EINTR) {
      return errno;
    }
  }
  return 0;
}

} // namespace

int print(std::string_view text) {
  if (const int why = write_all(STDOUT_FILENO, text)) {
    complain("", std::string("cannot write to standard output: ") + std::strerror(why));
    return exit_failed;
  }
  return exit_done;
}

int print_foreign(std::string_view text) {
  return ::isatty(STDOUT_FILENO) == 1 ? print(orchestration::printable(text)) : print(text);
}

void complain(std::string_view command, std::string_view text) {
  std::string line = "piorch";
  if (!command.empty())
    line.append(" ").append(command);
  line.append(": ");
  for (std::string_view more = ""; !text.empty(); more = "  ") { // a worker's last words are lines
    const auto end = std::min(text.find('\n'), text.size());
    line.append(more).append(config::printable(text.substr(0, end))).append("\n");
    text.remove_prefix(std::min(end + 1, text.size()));
  }
  write_all(STDERR_FILENO, line); // nowhere left to say that this failed
}

int usage_error(std::string_view command, std::string_view text) {
  std::string line(text);
  line.append(" (see piorch help");
  if (!command.empty())
    line.append(" ").append(command);
  complain(command, line.append(")"));
  return command == "exec" ? exit_not_run : exit_usage;
}

bool colour_wanted(int fd) {
  const auto variable = [](const char* name) {
    const char* value = std::getenv(name);
    return std::string_view(value ? value : "");
  };
  return variable("NO_COLOR").empty() && !is_dumb_terminal() && ::isatty(fd) == 1;
}

bool is_dumb_terminal() { return config::is_dumb_terminal(std::getenv("TERM")); }

} // namespace piorch::cli
