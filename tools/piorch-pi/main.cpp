// piorch-pi: what pi-subagents starts in place of Pi (PI_SUBAGENT_PI_BINARY). Runs the real Pi
// with the same words, in a sandbox of its own, and becomes that sandbox's broker. It has no
// options: every word is Pi's. Refusals are one line on stderr and status 1, which pi-subagents
// shows and does not try again.
#include "tools/piorch-pi/nested.hpp"
#include "tools/piorch-pi/real_pi.hpp"

#include "config/network_limits.hpp"
#include "config/text.hpp"
#include "ipc/worker_lease.hpp"
#include "orchestration/worker_launch.hpp"
#include "sandbox/caller.hpp"
#include "sandbox/credentials.hpp"
#include "sandbox/external_worker.hpp"
#include "sandbox/files.hpp"
#include "sandbox/hand_over.hpp"
#include "sandbox/inside.hpp"
#include "sandbox/surroundings.hpp"

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <fcntl.h>
#include <iterator>
#include <poll.h>
#include <sys/prctl.h>
#include <unistd.h>

namespace {

using namespace piorch;
using sandbox::environment;

constexpr std::chrono::seconds register_limit{10}; // it answers within a millisecond

int refuse(const error& why) {
  std::fprintf(stderr, "piorch-pi: %s\n", config::printable(why.text).c_str());
  return 1;
}

// Whatever descriptors pi-subagents has leaked: they lead out of the sandbox.
void close_the_rest() {
  if (::close_range(3, ~0u, 0) != 0)
    for (int fd = 3; fd < 4096; ++fd)
      ::close(fd);
}

// This process ends with the one that started it, at whatever moment that ends.
bool follow_parent(pid_t parent) {
  ::prctl(PR_SET_PDEATHSIG, SIGTERM, 0, 0, 0);
  if (::getppid() != parent)
    return false;
  pollfd out{STDOUT_FILENO, 0, 0}; // it may have ended before this program began
  return ::poll(&out, 1, 0) <= 0 || (out.revents & (POLLERR | POLLHUP)) == 0;
}

// What Pi and its tools see: the caller's environment without what is for this program, and
// without credentials but those of the providers that its model may belong to.
environment worker_environment(const environment& given, const std::string& model,
                               const orchestration::agent_settings& files) {
  environment out = given;
  for (const char* name : {pi::socket_variable, pi::capability_variable, pi::readable_variable})
    out.unset(name);
  sandbox::kept_variables kept;
  for (const std::string& provider : orchestration::providers_for(model, files).names) {
    auto its = sandbox::variables_of_provider(provider, files.models_json);
    std::move(its.names.begin(), its.names.end(), std::back_inserter(kept.names));
    std::move(its.beginnings.begin(), its.beginnings.end(), std::back_inserter(kept.beginnings));
  }
  for (const char* prefix : {"PI_SUBAGENT_", "PI_SUBAGENTS_", "PI_INTERCOM_"})
    kept.beginnings.emplace_back(prefix); // tokens of this run's own routes among them
  for (std::string& name : pi::list(given.value("PIORCH_KEEP_ENV"), ','))
    kept.names.push_back(std::move(name));
  sandbox::remove_credentials(out, kept);
  out.set("PI_OFFLINE", "1"); // no look-ups at start, no npm
  return out;
}

result<ipc::worker_lease> sign_in(const environment& given, const sandbox::external_worker& worker,
                                  const std::string& workspace, sandbox::hand_over& next) {
  const std::string socket(given.value(pi::socket_variable));
  next.capability = std::string(given.value(pi::capability_variable));
  if (socket.empty() || next.capability.empty())
    return error{failure::usage,
                 "no supervisor is named in the environment; set "
                 "subagents.externalWorkerIsolation to \"enforce\" and let piorch's Pi package set "
                 "it up"};
  auto id = ipc::new_capability(); // never heard of before, and nobody else's guess
  if (!id)
    return std::move(id).failed();
  next.worker_id = *id;
  ipc::worker_frame frame;
  frame.capability = next.capability;
  frame.id = next.worker_id + "-start";
  frame.worker_id = next.worker_id;
  frame.cwd = workspace;
  frame.lease = true;
  frame.agent = worker.agent;
  frame.run = worker.run;
  return ipc::register_worker(socket, frame, register_limit);
}

// Of the user's credentials those of the model's provider; all where it is not certain, as
// for sessions of piorch's own.
void give_credentials(sandbox::external_worker& worker, orchestration::agent_settings files) {
  files = orchestration::only_provider(std::move(files), worker.model);
  sandbox::set_agent_file(worker, "auth.json", std::move(files.auth_json));
  sandbox::set_agent_file(worker, "models.json", std::move(files.models_json));
}

// The domains are the supervisor's; ports of this machine are opened only by a policy that is
// understood.
result<done> apply(const ipc::worker_policy& policy, config::settings& settings) {
  settings.network.allowed_domains = policy.allowed;
  settings.network.denied_domains = policy.denied;
  if (!policy.understood)
    settings.network.allowed_local_ports.clear();
  for (const std::uint16_t port : settings.network.allowed_local_ports)
    if (port == limits::nested_workers_port)
      return error{failure::configuration_invalid,
                   "network.allowedLocalPorts has " + std::to_string(port) +
                       ", at which piorch counts the workers of workers: use another port"};
  return done{};
}

int run(const std::vector<std::string>& arguments, std::uint64_t begun,
        const sandbox::caller_signals& caller) {
  const environment given = environment::of_this_process();
  const auto real = pi::find_real_pi(given);
  if (!real)
    return refuse(real.failed());
  if (sandbox::is_inside()) // a worker's own worker: confined as this process is
    return refuse(pi::run_nested(*real, arguments,
                                 std::string(given.value("PI_SUBAGENT_CHILD_AGENT")), caller));
  if (sandbox::standard_stream_is_directory())
    return refuse({failure::usage, "a standard stream is an open directory, which would let the "
                                   "worker leave the sandbox"});
  auto around = sandbox::look_around();
  if (!around)
    return refuse(around.failed());
  const auto workspace = sandbox::canonical(".");
  const auto temp_dir = pi::temp_dir_of(given);
  if (!workspace || !temp_dir)
    return refuse(workspace ? temp_dir.failed()
                            : error{failure::usage, "the current directory no longer exists"});

  // Pi is told the other name, which does not exist inside.
  if (around->paths.agent_dir != around->policy.agent_dir)
    return refuse({failure::usage, "Pi's directory " + around->paths.agent_dir +
                                       " is reached through a link; set PI_CODING_AGENT_DIR to " +
                                       around->policy.agent_dir});

  sandbox::external_worker_inputs inputs;
  inputs.program = *real;
  inputs.arguments = arguments;
  inputs.variables = given;
  inputs.workspace = *workspace;
  inputs.homes = around->policy.homes;
  inputs.temp_dir = *temp_dir;
  inputs.agent_dir = around->policy.agent_dir;
  inputs.readable = pi::list(given.value(pi::readable_variable), ':');
  auto worker = sandbox::examine_external_worker(inputs);
  if (!worker)
    return refuse(worker.failed());

  sandbox::hand_over next;
  auto lease = sign_in(given, *worker, *workspace, next);
  if (!lease)
    return refuse(lease.failed());
  config::settings settings = around->settings.values;
  if (auto applied = apply(lease->granted.policy, settings); !applied)
    return refuse(applied.failed());

  auto files = orchestration::read_agent_settings(inputs.agent_dir);
  if (!files)
    return refuse(files.failed());
  environment variables = worker_environment(given, worker->model, *files);
  give_credentials(*worker, std::move(*files));
  sandbox::launch_request request;
  request.arguments = *real;
  request.arguments.insert(request.arguments.end(), arguments.begin(), arguments.end());
  request.variables = std::move(variables);
  request.directory = *workspace;
  request.new_session = true;
  request.signal_mask = caller.mask;
  request.ignored_signals = caller.ignored;
  request.local_ports = settings.network.allowed_local_ports;
  request.counts_workers = true;
  request.copies = worker->copies;
  around->policy.workspace = *workspace;
  around->policy.temp_dir = *temp_dir;
  around->policy.extras = worker->extras;
  auto started = sandbox::launch(settings, around->policy, request);
  if (!started)
    return refuse(started.failed());

  sandbox::take(next, std::move(*started));
  next.trusted_file =
      around->settings.file.empty() ? around->paths.settings_file : around->settings.file;
  next.command = "pi (subagent " + (worker->agent.empty() ? "worker" : worker->agent) + ")";
  next.begun_us = begun;
  next.ask = lease->granted.policy.understood;
  next.supervisor = std::move(lease->socket);
  next.heartbeat = lease->granted.heartbeat;
  next.settings = std::move(settings);
  return refuse(sandbox::become_broker(next, around->policy.libexec_dir, "worker"));
}

} // namespace

int main(int argc, char** argv) {
  const pid_t parent = ::getppid();
  const std::uint64_t begun = sandbox::monotonic_us();
  const sandbox::caller_signals caller = sandbox::block_signals();
  close_the_rest();
  if (!follow_parent(parent))
    return 1; // nobody is left to be told
  return run({argv + (argc > 0 ? 1 : 0), argv + argc}, begun, caller);
}
