// The answer to a request for approval, whichever of the user's orchestrators it
// waits in. Main thread.
#pragma once

#include "config/result.hpp"
#include "ipc/protocol.hpp"

namespace piorch::cli {

// failure::unknown_approval: none of them has it (any more).
result<done> answer_approval(const ipc::approval_answer_params& answer);

} // namespace piorch::cli
