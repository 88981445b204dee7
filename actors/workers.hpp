// The supervisor of a real orchestrator: sessions whose workers are Pi processes,
// each behind a broker process of its own, kept in the user's state directory.
#pragma once

#include "actors/approval_desk.hpp"
#include "actors/remote_broker.hpp"
#include "actors/supervisor.hpp"
#include "config/paths.hpp"
#include "orchestration/worker_launch.hpp"

#include <optional>

namespace piorch::actors {

// Whether the journal can be used: what start_supervisor relies on.
result<done> check_journal(const config::paths& where);

supervisor_handle start_supervisor(caf::actor_system& system, broker_starter starter,
                                   approval_desk_handle desk, const config::paths& where);

// The job of a worker's broker, and whom it may talk to. Looks for Node and Pi in
// the PATH of the request, outside its workspace.
struct worker_job {
  std::string text; // sandbox::job_text
  std::vector<orchestration::provider_endpoint> providers;
  std::optional<orchestration::pi_installation> cache_wanted; // it has no compile cache yet
};
result<worker_job> make_worker_job(const worker_request& wanted, const config::paths& where);

} // namespace piorch::actors
