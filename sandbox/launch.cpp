#include "sandbox/launch.hpp"

#include "config/network_limits.hpp"
#include "sandbox/bwrap_args.hpp"
#include "sandbox/caller.hpp"
#include "sandbox/files.hpp"
#include "sandbox/guard_rules.hpp"
#include "sandbox/init_job.hpp"
#include "sandbox/kill_starting.hpp"
#include "sandbox/network/proxy_environment.hpp"
#include "sandbox/plan.hpp"
#include "sandbox/seccomp.hpp"
#include "sandbox/spawn.hpp"
#include "sandbox/survey.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>
#include <utility>

namespace piorch::sandbox {

namespace {

// The child's descriptors beyond stdin and stdout.
enum child_fd { diagnostics_fd = 2, arguments_fd, init_fd, channel_fd, stderr_fd, first_source_fd };

result<ipc::unique_fd> memory_file(const char* name, const std::string& content) {
  ipc::unique_fd fd(::memfd_create(name, MFD_CLOEXEC));
  if (!fd ||
      ::write(fd.get(), content.data(), content.size()) != static_cast<ssize_t>(content.size()) ||
      ::lseek(fd.get(), 0, SEEK_SET) != 0)
    return error{failure::fault, std::string("cannot make a memory file: ") + std::strerror(errno)};
  return fd;
}

struct socket_pair {
  ipc::unique_fd ours, theirs;
};

result<socket_pair> make_channel() {
  int fds[2];
  if (::socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, fds) != 0)
    return error{failure::fault, std::string("cannot make a socket pair: ") + std::strerror(errno)};
  socket_pair out{ipc::unique_fd(fds[0]), ipc::unique_fd(fds[1])};
  const int on = 1; // piorch-init's pid as we see it comes with its first message
  ::setsockopt(out.ours.get(), SOL_SOCKET, SO_PASSCRED, &on, sizeof on);
  return out;
}

// Kills what was started unless everything went well.
class guard_process {
public:
  explicit guard_process(pid_t pid) : pid_(pid) {}
  ~guard_process() {
    if (pid_ > 0) {
      kill_starting(pid_);
      ::waitpid(pid_, nullptr, 0);
    }
  }
  pid_t release() { return std::exchange(pid_, -1); }

private:
  pid_t pid_;
};

void add_listeners(init_job& job, const launch_request& request) {
  job.add_listener(limits::http_proxy_port, false);
  job.add_listener(limits::socks_proxy_port, false);
  if (request.counts_workers)
    job.add_listener(limits::nested_workers_port, false);
  for (const std::uint16_t port : request.local_ports) {
    job.add_listener(port, false);
    job.add_listener(port, true);
  }
}

result<init_job> make_job(const policy& p, const std::vector<std::string>& trees,
                          const launch_request& request, const environment& variables) {
  init_job job;
  for (const std::string& word : request.arguments)
    job.add_text(init::tag::argument, word);
  for (const std::string& entry : variables.entries())
    job.add_text(init::tag::environment, entry);
  job.add_text(init::tag::directory, request.directory);
  if (auto ok = job.add_mounts(trees, plan_inner(p, trees, true)); !ok)
    return std::move(ok).failed();
  job.add(init::tag::guard_on, nullptr, 0, {});
  for (const guarded_name& g : guarded_names(p, trees)) {
    const init::guard_record head{g.kind, static_cast<std::uint32_t>(g.tree_bytes)};
    job.add(init::tag::guard_rule, &head, sizeof head,
            std::string_view(g.path.c_str(), g.path.size() + 1));
  }
  auto filter = make_filter();
  if (!filter)
    return std::move(filter).failed();
  job.add_filter(*filter);
  add_listeners(job, request);
  job.add_number(init::tag::limit_processes, p.settings.limits.processes);
  job.add_number(init::tag::limit_data, p.settings.limits.memory_mib << 20);
  job.add_number(init::tag::signal_mask, bits_of(request.signal_mask));
  job.add_number(init::tag::ignored_signals, request.ignored_signals);
  if (request.terminal >= 0)
    job.add_number(init::tag::terminal, static_cast<std::uint64_t>(request.terminal));
  return job;
}

} // namespace

result<std::string> find_bwrap(const std::string& workspace) {
  std::string inside;
  for (const char* path : {"/usr/bin/bwrap", "/usr/local/bin/bwrap", "/bin/bwrap"}) {
    const auto real = canonical(path);
    if (!real || ::access(real->c_str(), X_OK) != 0)
      continue;
    if (workspace.empty() || !is_within(*real, workspace))
      return *real;
    inside = *real;
  }
  if (!inside.empty())
    return error{failure::sandbox_unavailable,
                 workspace + " cannot be the workspace: bubblewrap itself (" + inside +
                     ") lies in it, and would be writable; choose a directory further down"};
  return error{failure::sandbox_unavailable,
               "bubblewrap is not installed; install it with: apt-get install bubblewrap"};
}

std::string explain_bwrap(const std::string& diagnostics) {
  struct hint {
    const char* sign;
    const char* remedy;
  };
  constexpr hint hints[] = {
      {"Creating new namespace failed", "user namespaces are forbidden here; allow them with: "
                                        "sysctl -w user.max_user_namespaces=15000 "
                                        "(and kernel.unprivileged_userns_clone=1 where it exists)"},
      {"No permissions to create new namespace",
       "user namespaces are forbidden here; allow them with: sysctl -w "
       "kernel.unprivileged_userns_clone=1"},
      {"setting up uid map", "user namespaces are restricted here (AppArmor on Ubuntu); allow "
                             "bubblewrap to make them: see "
                             "piorch doctor"},
      {"loopback",
       "AppArmor restricts user namespaces here; allow bubblewrap to make them: see piorch "
       "doctor"},
      {"Can't mount proc", "this container hides parts of /proc; start it with an unmasked /proc "
                           "(podman/docker: --security-opt unmask=ALL)"},
      {"Failed to make / slave",
       "this container does not allow mounts; give it CAP_SYS_ADMIN or user "
       "namespaces"},
  };
  std::string said = diagnostics.substr(0, diagnostics.find('\n'));
  if (said.compare(0, 7, "bwrap: ") == 0)
    said.erase(0, 7);
  for (const hint& h : hints)
    if (said.find(h.sign) != std::string::npos)
      return said + ": " + h.remedy;
  return said.empty() ? "bubblewrap ended without a word; run piorch doctor"
                      : said + "; run piorch doctor for what is missing";
}

result<launched> launch(const config::settings& settings, const policy_inputs& from,
                        const launch_request& request) {
  launched out;
  // Without a private directory the command runs with no writable one (contract 7). First of
  // all: what others make beside it can be hidden only once the directory of all is there.
  policy_inputs inputs = from;
  const auto make_private = [&](const std::string& temp_dir) {
    auto made = scratch::make(temp_dir);
    if (!made && is_directory(temp_dir))
      inputs.closed_temp_dirs.push_back(temp_dir);
    return made ? std::move(*made) : scratch();
  };
  out.temp = make_private(from.temp_dir);
  if (from.temp_dir != system_temp())
    out.beside = make_private(system_temp());
  auto rules = make_policy(settings, inputs);
  if (!rules)
    return std::move(rules).failed();
  const auto bwrap = find_bwrap(rules->workspace);
  if (!bwrap)
    return bwrap.failed();
  out.rules = std::move(*rules);
  environment variables = request.variables;
  std::string seen_temp = out.temp.path();
  if (from.extras.keeps_temp_dir(from.temp_dir)) // under the name that the caller has for it
    seen_temp =
        variables.value("TMPDIR").empty() ? from.temp_dir : std::string(variables.value("TMPDIR"));
  prepare_for_sandbox(variables, seen_temp);
  if (auto made = make_own_directories(from.extras.own, out.temp); !made)
    return std::move(made).failed();
  if (auto placed = place_private_files(request.files, out.temp, variables); !placed)
    return std::move(placed).failed();

  const std::string init_path = join(from.libexec_dir, "piorch-init");
  const ipc::unique_fd init_program(::open(init_path.c_str(), O_RDONLY | O_CLOEXEC));
  if (!init_program)
    return error{failure::sandbox_unavailable, "cannot open " + init_path + ": " +
                                                   std::strerror(errno) + "; install piorch again"};

  const plan outer = make_plan(out.rules, out.temp.path());
  auto arguments = make_bwrap_arguments(outer, first_source_fd);
  if (!arguments)
    return std::move(arguments).failed();
  std::string words;
  for (const std::string& option : arguments->options)
    words.append(option.c_str(), option.size() + 1);
  auto arguments_file = memory_file("arguments", words);
  auto diagnostics = memory_file("diagnostics", {});
  auto channel = make_channel();
  if (!arguments_file)
    return std::move(arguments_file).failed();
  if (!diagnostics)
    return std::move(diagnostics).failed();
  if (!channel)
    return std::move(channel).failed();

  spawn_request start;
  start.program = *bwrap;
  start.arguments = {"bwrap",
                     "--args",
                     std::to_string(arguments_fd),
                     "--",
                     "/proc/self/fd/" + std::to_string(init_fd),
                     std::to_string(channel_fd),
                     std::to_string(stderr_fd)};
  start.fds = {request.stdio[0],   request.stdio[1],      diagnostics->get(), arguments_file->get(),
               init_program.get(), channel->theirs.get(), request.stdio[2]};
  for (const ipc::unique_fd& fd : arguments->descriptors)
    start.fds.push_back(fd.get());
  start.new_session = request.new_session;
  // Signals of the terminal are for the command; bubblewrap must not die of them.
  sigfillset(&start.blocked);
  auto pid = spawn(start);
  if (!pid)
    return std::move(pid).failed();
  guard_process alive(*pid);

  // Meanwhile: everything that bubblewrap does not need.
  if (auto copied = place_private_copies(request.copies, out.temp); !copied)
    return std::move(copied).failed();
  if (auto surveyed = survey_workspace(out.rules, from); !surveyed)
    return std::move(surveyed).failed();
  network::add_proxy_variables(variables, join(from.libexec_dir, "piorch-connect"));
  auto job = make_job(out.rules, outer.trees, request, variables);
  if (!job)
    return std::move(job).failed();
  if (auto sent = job->send(channel->ours.get()); !sent)
    return std::move(sent).failed();
  out.bwrap = alive.release();
  out.channel = std::move(channel->ours);
  out.diagnostics = std::move(*diagnostics);
  return out;
}

} // namespace piorch::sandbox
