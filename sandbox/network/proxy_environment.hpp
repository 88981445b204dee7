// The variables that lead programs inside a sandbox to its proxies. Pure.
#pragma once

#include "sandbox/environment.hpp"

#include <string>

namespace piorch::sandbox::network {

// Sets them over what the caller's environment had: a proxy of the host cannot be
// reached from inside. `connect_program` is the path of piorch-connect as seen
// inside. A GIT_SSH_COMMAND or JAVA_TOOL_OPTIONS of the caller is kept and added to.
void add_proxy_variables(environment& e, const std::string& connect_program);

} // namespace piorch::sandbox::network
