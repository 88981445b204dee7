// What `piorch exec` prepares for a command that may run on the host (contract, section 9).
#pragma once

#include "sandbox/hand_over.hpp"
#include "tools/piorch/exec_options.hpp"

namespace piorch::cli {

// A command that begins with one of the configured prefixes is not sandboxed; none else.
// `shown` is the complete command, `terminal` where somebody can be asked (-1: nobody).
// failure::approval_unavailable when it may not run at all.
result<std::optional<std::string>> host_prefix(const config::settings& settings,
                                               const std::string& shown, int terminal);

// Whether it may be run again there after its sandbox has refused it a Unix socket.
bool may_be_retried(const config::settings& settings, bool somebody_to_ask);

// The same command, there.
result<sandbox::on_host> host_run(const exec_options& options,
                                  const sandbox::launch_request& request, std::string shown);

// Puts something in the place of the command's stderr that the broker sees on its way to the
// caller's: a terminal where that is one, else a pipe. The command's end; none where nothing can
// stand in for it without anybody noticing, and the command is not run again then.
ipc::unique_fd watch_stderr(sandbox::on_host& of);

} // namespace piorch::cli
