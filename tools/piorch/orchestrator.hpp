// The way from a command to the user's orchestrators. Main thread.
#pragma once

#include "ipc/start_instance.hpp"
#include "tools/piorch/instances.hpp"
#include "tools/piorch/options.hpp"

#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>
#include <vector>

namespace piorch::cli {

// The default orchestrator, started when there is none.
result<ipc::connected> reach_orchestrator(answers approvals = answers::no);

// All of this user that answer, the default one first (and started when there is
// none at all: it alone reads what ended sessions have left).
result<std::vector<ipc::connected>> reach_all_orchestrators(answers approvals = answers::no);

// The orchestrator that knows the session: the others say unknown_session.
struct found_session {
  ipc::connected at;
  nlohmann::json document;
  std::uint64_t revision = 0; // of the orchestrator's list of sessions
};
result<found_session> find_session(const std::string& reference, answers approvals = answers::no);

// The caller's environment, for a worker or a command.
ipc::environment whole_environment();

// The time limit of an option in seconds; failure::usage with its name.
result<std::chrono::milliseconds> seconds_from(std::string_view option, const std::string& text);

// Complains and gives the exit status that belongs to the failure.
int failed(std::string_view command, const error& why);

} // namespace piorch::cli
