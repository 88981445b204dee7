// piorch-serve: the orchestrator. Not for people; `piorch serve` becomes it.
//   piorch-serve [--ready-fd N] [--idle SECONDS]   the user's default instance
//   piorch-serve --stdio                           private to its parent
#include "actors/system.hpp"
#include "actors/workers.hpp"
#include "config/paths.hpp"
#include "config/version.hpp"
#include "ipc/start_instance.hpp"
#include "sandbox/facilities.hpp"
#include "sandbox/launch.hpp"
#include "sandbox/memory_group.hpp"
#include "sandbox/scratch.hpp"

#include <algorithm>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <malloc.h>
#include <sys/stat.h>
#include <unistd.h>

namespace {

using namespace piorch;

struct arguments {
  bool stdio = false;
  int ready_fd = -1;
  long idle_seconds = 60; // long enough for the next command of a script, short for a laptop
};

constexpr off_t log_bytes_max = 1 << 20;

bool parse(int argc, char** argv, arguments& out) {
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--stdio")
      out.stdio = true;
    else if (word == "--ready-fd" && i + 1 < argc)
      out.ready_fd = std::atoi(argv[++i]);
    else if (word == "--idle" && i + 1 < argc)
      out.idle_seconds = std::max(0L, std::atol(argv[++i]));
    else
      return false;
  }
  return true;
}

int refuse(const arguments& args, const std::string& why) {
  std::fprintf(stderr, "piorch serve: %s\n", why.c_str());
  if (args.ready_fd >= 0)
    ipc::report_ready(args.ready_fd, why);
  return 4; // contract, section 3: no orchestrator could be started
}

ipc::initialize_result about_us() {
  ipc::initialize_result about;
  about.server_version = version;
  about.pid = ::getpid();
  about.platform = "linux";
  const auto bwrap = sandbox::find_bwrap("");
  const auto guard = sandbox::find_guard_support();
  about.available = bwrap && guard.error == 0;
  if (!bwrap)
    about.reason = bwrap.failed().text;
  else if (guard.error != 0)
    about.reason = std::string("names that do not exist yet cannot be guarded: ") +
                   sandbox::remedy_for_no_notification(guard.error);
  return about;
}

// What a burst of work has taken goes back to the system. Set, these are also constant:
// else glibc raises the threshold for mmap with each large block that is freed, and
// keeps such blocks from then on.
void keep_memory_small() {
  ::mallopt(M_MMAP_THRESHOLD, 128 << 10);
  ::mallopt(M_TRIM_THRESHOLD, 256 << 10);
  ::mallopt(M_ARENA_MAX, 2); // actors and Asio: two threads that work
}

} // namespace

int main(int argc, char** argv) {
  // Before any thread exists: all of them inherit mask and dispositions.
  sigset_t end_signals, every;
  sigemptyset(&end_signals);
  for (const int n : {SIGTERM, SIGINT, SIGHUP})
    sigaddset(&end_signals, n);
  every = end_signals;
  sigaddset(&every, SIGCHLD);
  ::pthread_sigmask(SIG_SETMASK, &every, nullptr);
  ::signal(SIGPIPE, SIG_IGN);
  ::signal(SIGCHLD, SIG_DFL); // ignored by the caller, children could not be waited for

  keep_memory_small();

  arguments args;
  if (!parse(argc, argv, args)) {
    std::fputs("piorch-serve: started by piorch serve only\n", stderr);
    return 2;
  }
  // CAF prints to descriptor 1 when something goes wrong: that must not be the
  // protocol's.
  actors::system_options options;
  if (args.stdio) {
    options.in.reset(::fcntl(STDIN_FILENO, F_DUPFD_CLOEXEC, 3));
    options.out.reset(::fcntl(STDOUT_FILENO, F_DUPFD_CLOEXEC, 3));
    if (!options.in || !options.out)
      return refuse(args, "--stdio needs an open stdin and stdout");
  }
  const int null = ::open("/dev/null", O_RDWR | O_CLOEXEC);
  ::dup2(null, STDIN_FILENO);
  ::dup2(STDERR_FILENO, STDOUT_FILENO);
  if (args.ready_fd >= 0)
    ::fcntl(args.ready_fd, F_SETFD, FD_CLOEXEC);
  struct stat log {};
  if (::fstat(STDERR_FILENO, &log) == 0 && S_ISREG(log.st_mode) && log.st_size > log_bytes_max)
    (void)!::ftruncate(STDERR_FILENO, 0);

  auto paths = config::resolve_paths(config::read_path_inputs());
  if (!paths)
    return refuse(args, paths.failed().text);
  auto libexec = config::own_libexec_dir();
  if (!libexec)
    return refuse(args, libexec.failed().text);
  options.runtime_dir = paths->runtime_dir;
  options.instance =
      args.stdio ? "serve-" + std::to_string(::getpid()) : std::string(ipc::default_instance);
  options.broker = *libexec + "/piorch-broker";
  if (!args.stdio)
    options.idle_limit = std::chrono::seconds(args.idle_seconds);
  options.about = about_us();
  options.make_supervisor = [where = *paths](caf::actor_system& system,
                                             actors::broker_starter starter,
                                             actors::approval_desk_handle desk) {
    return actors::start_supervisor(system, std::move(starter), std::move(desk), where);
  };
  options.settings = [where = *paths]() -> result<config::settings> {
    auto loaded = config::load_settings(where);
    if (!loaded)
      return std::move(loaded).failed();
    return std::move(loaded->values);
  };
  if (auto usable = actors::check_journal(*paths); !usable)
    return refuse(args, usable.failed().text);

  auto serving = actors::orchestrator::open(std::move(options));
  if (!serving)
    return refuse(args, serving.failed().text);
  if (args.ready_fd >= 0) {
    ipc::report_ready(args.ready_fd, "");
    ::close(args.ready_fd);
  }
  (*serving)->run(end_signals);
  serving->reset();
  sandbox::sweep_scratch(paths->temp_dir); // of brokers that had to be killed
  sandbox::sweep_memory_groups();
  return 0;
}
