#include "tools/piorch/exec_host.hpp"

#include "config/text.hpp"
#include "orchestration/host_access.hpp"
#include "sandbox/caller.hpp"
#include "sandbox/files.hpp"

#include <cstdlib>
#include <fcntl.h>
#include <sys/ioctl.h>
#include <sys/stat.h>
#include <termios.h>
#include <unistd.h>

namespace piorch::cli {

namespace {

// Ours alone: the caller's own must not become non-blocking.
ipc::unique_fd open_again(int fd, mode_t type) {
  if (S_ISREG(type)) // its offset is shared with others
    return ipc::unique_fd(::fcntl(fd, F_DUPFD_CLOEXEC, 3));
  return ipc::unique_fd(::open(("/proc/self/fd/" + std::to_string(fd)).c_str(),
                               O_WRONLY | O_NONBLOCK | O_NOCTTY | O_CLOEXEC));
}

// As it comes: the real terminal does what is to be done with it.
void make_raw(int fd, int like) {
  termios settings{};
  winsize size{};
  if (::tcgetattr(like, &settings) == 0) {
    ::cfmakeraw(&settings);
    ::tcsetattr(fd, TCSANOW, &settings);
  }
  if (::ioctl(like, TIOCGWINSZ, &size) == 0)
    ::ioctl(fd, TIOCSWINSZ, &size);
}

// The two ends of a terminal: ours and the command's.
std::pair<ipc::unique_fd, ipc::unique_fd> make_terminal() {
  ipc::unique_fd ours(::posix_openpt(O_RDWR | O_NOCTTY | O_CLOEXEC)), theirs;
  if (ours && ::grantpt(ours.get()) == 0 && ::unlockpt(ours.get()) == 0)
    theirs.reset(::ioctl(ours.get(), TIOCGPTPEER, O_RDWR | O_NOCTTY | O_CLOEXEC));
  if (theirs)
    make_raw(theirs.get(), STDERR_FILENO);
  return {std::move(ours), std::move(theirs)};
}

} // namespace

result<std::optional<std::string>> host_prefix(const config::settings& settings,
                                               const std::string& shown, int terminal) {
  const auto refuse = [](const std::string& why) {
    return error{failure::approval_unavailable,
                 "not run: it would run on the host, and that was not allowed: " + why};
  };
  auto prefix = orchestration::preflight_prefix(settings, shown);
  if (!prefix)
    return std::optional<std::string>();
  if (terminal < 0)
    return refuse("it begins with " + config::in_quotes(*prefix) +
                  " (hostIPC.preflightCommandPrefixes), and there is nobody to ask; run it in the "
                  "foreground of a terminal, without --no-ask");
  if (shown.size() > orchestration::shown_command_bytes)
    return refuse("it is too long to be shown to somebody (" + std::to_string(shown.size()) +
                  " bytes, at most " + std::to_string(orchestration::shown_command_bytes) + ")");
  return prefix;
}

bool may_be_retried(const config::settings& settings, bool somebody_to_ask) {
  return somebody_to_ask && settings.host_ipc.mode == config::host_ipc_mode::ask &&
         settings.host_ipc.retry_on_unix_socket_error;
}

result<sandbox::on_host> host_run(const exec_options& options,
                                  const sandbox::launch_request& request, std::string shown) {
  sandbox::on_host out;
  out.job.arguments = request.arguments;
  out.job.environment = request.variables.entries();
  out.job.directory = request.directory;
  if (!sandbox::is_directory(out.job.directory))
    return error{failure::usage, "no such directory: " + options.cwd};
  std::vector<std::string> variables;
  for (const auto& [name, value] : options.env)
    variables.push_back(name + "=" + value);
  out.shown = std::move(shown);
  out.variables = orchestration::in_words(variables);
  out.signal_mask = sandbox::bits_of(request.signal_mask);
  out.ignored_signals = request.ignored_signals;
  out.input_offset = ::lseek(STDIN_FILENO, 0, SEEK_CUR);
  return out;
}

ipc::unique_fd watch_stderr(sandbox::on_host& of) {
  struct stat st {};
  if (::fstat(STDERR_FILENO, &st) != 0 ||
      !(S_ISREG(st.st_mode) || S_ISFIFO(st.st_mode) || ::isatty(STDERR_FILENO) == 1))
    return {};
  auto to = open_again(STDERR_FILENO, st.st_mode);
  std::pair<ipc::unique_fd, ipc::unique_fd> ends;
  int fds[2];
  if (::isatty(STDERR_FILENO) == 1) {
    ends = make_terminal();
  } else if (::pipe2(fds, O_CLOEXEC) == 0) {
    ends.first.reset(fds[0]);
    ends.second.reset(fds[1]);
  }
  if (!to || !ends.first || !ends.second)
    return {};
  ::fcntl(ends.first.get(), F_SETFL, O_NONBLOCK); // its own, not the command's
  of.stderr_from = std::move(ends.first);
  of.stderr_to = std::move(to);
  return std::move(ends.second);
}

} // namespace piorch::cli
