#include "actors/workers.hpp"

#include "config/settings.hpp"
#include "orchestration/worker_launch.hpp"
#include "sandbox/environment.hpp"
#include "sandbox/files.hpp"
#include "sandbox/remote_job.hpp"

#include <random>
#include <sys/random.h>

namespace piorch::actors {

namespace {

std::string journal_path(const config::paths& where) { return where.state_dir + "/sessions"; }

// The kernel's randomness; an id that can be guessed would do no harm, one that
// occurs twice would.
std::array<std::uint8_t, 10> random_bytes() {
  std::array<std::uint8_t, 10> out{};
  if (::getrandom(out.data(), out.size(), 0) != static_cast<ssize_t>(out.size())) {
    std::random_device device;
    for (auto& byte : out)
      byte = static_cast<std::uint8_t>(device());
  }
  return out;
}

ipc::environment environment_of(const worker_request& wanted) {
  if (wanted.env)
    return *wanted.env;
  ipc::environment out;
  const auto own = sandbox::environment::of_this_process();
  for (const auto& entry : own.entries())
    out.emplace(entry.substr(0, entry.find('=')), entry.substr(entry.find('=') + 1));
  return out;
}

std::string value_in(const ipc::environment& from, const char* name) {
  const auto i = from.find(name);
  return i == from.end() ? std::string() : i->second;
}

} // namespace

result<done> check_journal(const config::paths& where) {
  auto opened = orchestration::journal::open(journal_path(where));
  if (!opened)
    return std::move(opened).failed();
  return done{};
}

result<worker_job> make_worker_job(const worker_request& wanted, const config::paths& where) {
  const auto workspace = sandbox::canonical(wanted.cwd);
  if (!workspace)
    return error{failure::usage, wanted.cwd + " is not a directory that exists"};
  orchestration::worker_wish wish;
  wish.model = wanted.model;
  wish.tools = wanted.tools;
  wish.environment = environment_of(wanted);
  auto pi = orchestration::find_pi(value_in(wish.environment, "PATH"), {*workspace});
  if (!pi)
    return std::move(pi).failed();
  auto agent_dir = value_in(wish.environment, orchestration::agent_dir_variable);
  if (agent_dir.empty())
    agent_dir = where.agent_dir;
  auto user = orchestration::read_agent_settings(agent_dir);
  if (!user)
    return std::move(user).failed();
  auto launch = orchestration::make_worker_launch(*pi, *user, wish);
  if (!launch)
    return std::move(launch).failed();

  sandbox::remote_job job;
  job.arguments = std::move(launch->argv);
  job.environment = std::move(launch->environment);
  job.directory = *workspace;
  job.command = "pi --mode rpc (subagent session " + wanted.session_id.substr(0, 12) + ")";
  job.has_input = true;
  job.session_id = wanted.session_id;
  job.files.variable = orchestration::agent_dir_variable;
  for (auto& file : launch->agent_files)
    job.files.texts.emplace(std::move(file.name), std::move(file.text));
  return worker_job{sandbox::job_text(job), std::move(launch->providers)};
}

supervisor_handle start_supervisor(caf::actor_system& system, broker_starter starter,
                                   const config::paths& where) {
  auto opened = orchestration::journal::open(journal_path(where));
  if (!opened)
    return {}; // check_journal said why
  supervisor_services services;
  services.journal = std::make_shared<orchestration::journal>(std::move(*opened));
  if (const auto settings = config::load_settings(where)) {
    services.keep.sessions = settings->values.sessions.keep_count;
    services.keep.age = settings->values.sessions.keep;
  }
  services.now = [] {
    return std::chrono::time_point_cast<std::chrono::milliseconds>(
        std::chrono::system_clock::now());
  };
  services.random = random_bytes;
  services.prepare_worker = [&system, starter,
                             where](const worker_request& wanted) -> result<prepared_worker> {
    auto job = make_worker_job(wanted, where);
    if (!job)
      return std::move(job).failed();
    prepared_worker out;
    out.providers = std::move(job->providers);
    out.start = [&system, starter, text = std::move(job->text)](
                    const broker_owner_handle& owner) -> result<remote_broker_handle> {
      return system.spawn(remote_broker_actor, owner, starter, text);
    };
    return out;
  };
  return system.spawn(supervisor_actor, std::move(services));
}

} // namespace piorch::actors
