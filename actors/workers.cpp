#include "actors/workers.hpp"

#include "actors/cache_warmer.hpp"
#include "config/settings.hpp"
#include "orchestration/worker_launch.hpp"
#include "sandbox/environment.hpp"
#include "sandbox/files.hpp"
#include "sandbox/remote_job.hpp"

#include <random>
#include <sys/random.h>

namespace piorch::actors {

namespace {

// Node.js alone reserves some 600 for the code that it makes.
constexpr std::uint64_t worker_memory_mib = 1024;

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

orchestration::compile_cache cache_of(const config::paths& where) {
  return orchestration::compile_cache(where.state_dir + "/compile-cache");
}

sandbox::remote_job job_for(orchestration::worker_launch launch, std::string workspace) {
  sandbox::remote_job job;
  job.arguments = std::move(launch.argv);
  job.environment = std::move(launch.environment);
  job.directory = std::move(workspace);
  job.has_input = true;
  job.files.variable = orchestration::agent_dir_variable;
  for (auto& file : launch.agent_files)
    job.files.texts.emplace(std::move(file.name), std::move(file.text));
  return job;
}

// For the sessions to come. This one starts without: nobody is to wait for it.
void warm_cache(caf::actor_system& system, const broker_starter& starter,
                const config::paths& where, const orchestration::pi_installation& pi,
                const caf::actor& supervisor) {
  auto cache = cache_of(where);
  auto made = cache.prepare(pi);
  if (!made || !supervisor)
    return; // somebody is at it, or the disk is full: slower, nothing else
  worker_request nobody;
  auto launch = orchestration::compile_cache::launch(pi, *made, environment_of(nobody));
  auto job = job_for(std::move(launch), made->directory);
  job.command = "pi (compile cache)";
  job.time_limit = std::chrono::seconds(60);
  system.spawn(cache_warmer_actor,
               std::make_shared<warming>(warming{cache, *made, sandbox::job_text(job)}), starter,
               supervisor);
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
  auto agent_dir = where.agent_dir;
  if (const auto named = value_in(wish.environment, orchestration::agent_dir_variable);
      !named.empty()) {
    auto dir = config::agent_directory(named, where.home);
    if (!dir)
      return std::move(dir).failed();
    agent_dir = std::move(*dir);
  }
  auto user = orchestration::read_agent_settings(agent_dir);
  if (!user)
    return std::move(user).failed();
  wish.compile_cache = cache_of(where).find(*pi, *workspace);
  auto launch = orchestration::make_worker_launch(*pi, *user, wish);
  if (!launch)
    return std::move(launch).failed();
  worker_job out;
  out.providers = std::move(launch->providers);
  if (wish.compile_cache.empty())
    out.cache_wanted = *pi;
  auto job = job_for(std::move(*launch), *workspace);
  job.command = "pi --mode rpc (subagent session " + wanted.session_id.substr(0, 12) + ")";
  job.ask = true; // the desk knows whether anybody is there
  job.session_id = wanted.session_id;
  if (!wish.compile_cache.empty())
    job.readable = {wish.compile_cache};
  out.text = sandbox::job_text(job);
  return out;
}

supervisor_handle start_supervisor(caf::actor_system& system, broker_starter starter,
                                   approval_desk_handle desk, const config::paths& where) {
  auto opened = orchestration::journal::open(journal_path(where));
  if (!opened)
    return {}; // check_journal said why
  supervisor_services services;
  services.journal = std::make_shared<orchestration::journal>(std::move(*opened));
  if (const auto settings = config::load_settings(where))
    services.keep = orchestration::retention{settings->values.sessions.keep_count,
                                             settings->values.sessions.keep};
  services.now = [] {
    return std::chrono::time_point_cast<std::chrono::milliseconds>(
        std::chrono::system_clock::now());
  };
  services.random = random_bytes;
  services.approval = approvals_of_sessions(std::move(desk));
  // Known below, before anybody can ask for a session. Weak: it owns these services.
  const auto self = std::make_shared<caf::actor_addr>();
  services.prepare_worker = [&system, starter, where,
                             self](const worker_request& wanted) -> result<prepared_worker> {
    // The broker reads it, too, but then there is a session already.
    auto settings = config::load_settings(where);
    if (!settings)
      return std::move(settings).failed();
    auto job = make_worker_job(wanted, where);
    if (!job)
      return std::move(job).failed();
    if (job->cache_wanted)
      warm_cache(system, starter, where, *job->cache_wanted, caf::actor_cast<caf::actor>(*self));
    prepared_worker out;
    out.providers = std::move(job->providers);
    if (const auto mib = settings->values.limits.memory_mib; mib < worker_memory_mib)
      out.start_hint = "limits.memoryMiB in " + settings->file + " is " + std::to_string(mib) +
                       ", and a worker needs about " + std::to_string(worker_memory_mib);
    out.start = [&system, starter, text = std::move(job->text)](
                    const broker_owner_handle& owner) -> result<remote_broker_handle> {
      return system.spawn(remote_broker_actor, owner, starter, text);
    };
    return out;
  };
  const auto supervisor = system.spawn(supervisor_actor, std::move(services));
  *self = supervisor->address();
  return supervisor;
}

} // namespace piorch::actors
