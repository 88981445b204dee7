// The second half of a policy: what is protected inside the writable trees, found by a look
// at the workspace. Any thread.
#pragma once

#include "sandbox/policy.hpp"

namespace piorch::sandbox {

// Adds the protected names of the workspace and of its Git directory. Refuses a
// workspace with more secrets than can be protected one by one (failure::usage).
result<done> survey_workspace(policy& p, const policy_inputs& from);

} // namespace piorch::sandbox
