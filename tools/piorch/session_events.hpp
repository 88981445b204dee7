// The events of a session that there are now, from its first on. Main thread.
#pragma once

#include "tools/piorch/orchestrator.hpp"

#include <functional>

namespace piorch::cli {

// `take` gets the params of each session.event; what it returns (exit_done: go on) ends
// the reading and is the status. Nothing waits for events that have not happened yet.
result<int> read_events(found_session& of,
                        const std::function<int(const nlohmann::json& params)>& take);

} // namespace piorch::cli
