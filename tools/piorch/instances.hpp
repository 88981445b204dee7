// The orchestrators of this user that are alive; nothing is started. Main thread.
#pragma once

#include "ipc/start_instance.hpp"

#include <vector>

namespace piorch::cli {

result<ipc::instance_directory> open_instance_directory();

// Whether this program answers requests for approval while it is connected (initialize's
// capabilities.approvals): then they wait for it, and are sent to it.
enum class answers { no, yes };
ipc::initialize_params introduce(answers approvals);

// Connected to, the default one first. None is no error.
std::vector<ipc::connected> live_instances(const ipc::instance_directory& directory,
                                           answers approvals = answers::no);

// Time for an answer that an orchestrator gives at once.
inline constexpr std::chrono::seconds instance_answer_time{10};

} // namespace piorch::cli
