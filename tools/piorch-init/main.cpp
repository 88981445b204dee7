// PID 1 of every sandbox. Started by bubblewrap, takes one job from the broker
// over the descriptor named in its first argument, and lives as long as the
// command. The second names the command's stderr; until then descriptor 2 is
// bubblewrap's own. Signals are blocked before anything else, it is not dumpable (so
// nothing inside can read or trace it), and it has no option and no other input.
#include "tools/piorch-init/command.hpp"
#include "tools/piorch-init/guarding.hpp"
#include "tools/piorch-init/job.hpp"
#include "tools/piorch-init/link.hpp"
#include "tools/piorch-init/walls.hpp"

#include <cerrno>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

using namespace piorch::init;

int main(int argc, char** argv) {
  ::prctl(PR_SET_DUMPABLE, 0, 0, 0, 0);
  ::prctl(PR_SET_PDEATHSIG, SIGKILL, 0, 0, 0);
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, nullptr);

  ::prctl(PR_SET_NAME, "piorch-init", 0, 0, 0);
  const int channel = argc == 3 ? std::atoi(argv[1]) : -1;
  const int errors = argc == 3 ? std::atoi(argv[2]) : -1;
  if (channel < 3 || errors < 3 || ::getpid() != 1 || ::dup2(errors, 2) != 2 ||
      ::fcntl(channel, F_SETFD, FD_CLOEXEC) != 0) {
    constexpr char text[] = "piorch-init: started by piorch only\n";
    [[maybe_unused]] auto n = ::write(2, text, sizeof text - 1);
    return 125;
  }
  ::close_range(3, static_cast<unsigned>(channel) - 1, 0);
  ::close_range(static_cast<unsigned>(channel) + 1, ~0u, 0);

  const piorch::init::link to_broker(channel);
  wire::header h;
  h.what = wire::message::up;
  to_broker.send(h);

  int fd = -1;
  if (!to_broker.receive(h, fd) || h.what != wire::message::job || fd < 0)
    return 125; // the broker gave up; it knows why
  static job todo;
  if (!read_job(fd, todo))
    to_broker.fail(wire::stage::setup, EPROTO, "read the broker's job");
  ::close(fd);

  make_mounts(todo, to_broker);
  cover_kernel_files(todo, to_broker);
  open_listeners(todo, to_broker);
  limit_damage(todo);
  drop_capabilities(to_broker, capabilities_for_guard(todo));
  if (to_broker.ends_already()) // nothing is started only to be ended
    return 0;
  watch_command(todo, to_broker, start_command(todo, to_broker));
}
