// Starts bubblewrap with piorch-init for one command. What follows (job,
// signals, end) goes through a process_tree. Main or Asio thread only: the
// sandbox ends with the thread that started it.
#pragma once

#include "config/result.hpp"
#include "ipc/unique_fd.hpp"
#include "sandbox/environment.hpp"
#include "sandbox/policy.hpp"
#include "sandbox/private_copies.hpp"
#include "sandbox/private_files.hpp"
#include "sandbox/scratch.hpp"

#include <array>
#include <csignal>
#include <cstdint>
#include <string>
#include <sys/types.h>
#include <vector>

namespace piorch::sandbox {

struct launch_request {
  std::vector<std::string> arguments; // the command; looked up in the sandbox's PATH
  environment variables;              // before prepare_for_sandbox
  std::string directory;              // working directory inside, absolute
  std::array<int, 3> stdio{0, 1, 2};  // -1: /dev/null
  int terminal = -1;                  // 0…2: give the command this terminal's foreground
  bool new_session = false;
  sigset_t signal_mask{};            // for the command
  std::uint64_t ignored_signals = 0; // bit n-1: the command ignores signal n
  std::vector<std::uint16_t> local_ports;
  bool counts_workers = false;      // listens at limits::nested_workers_port, too
  private_files files;              // for this command alone
  std::vector<private_copy> copies; // likewise; into policy_extras::own
};

// A sandbox on its way. The job is in the channel already, so that the command
// starts as soon as its walls stand, whatever the broker is doing.
struct launched {
  pid_t bwrap = -1;
  ipc::unique_fd channel;     // to piorch-init
  ipc::unique_fd diagnostics; // memfd with what bubblewrap printed
  scratch temp;
  // Empty, below /tmp where the temporary directory is another one: what is hidden must stay there.
  scratch beside;
  policy rules; // surveyed
};

// On an error nothing runs and nothing is left (failure::usage,
// configuration_invalid, sandbox_unavailable).
result<launched> launch(const config::settings& settings, const policy_inputs& from,
                        const launch_request& request);

// Where bubblewrap is: fixed places only, never PATH.
result<std::string> find_bwrap(const std::string& workspace);

// bubblewrap's own words about why it could not make a sandbox, with the remedy.
std::string explain_bwrap(const std::string& diagnostics);

} // namespace piorch::sandbox
