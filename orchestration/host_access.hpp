// When a command may run on the host instead of in a sandbox (contract, section 9). Pure:
// only says when somebody is to be asked; that an approval is needed, and its being bound
// to the complete command, is the caller's part.
#pragma once

#include "config/settings.hpp"

#include <optional>
#include <string>
#include <string_view>

namespace piorch::orchestration {

// Of a command, as it is shown for an approval; each of 256 questions repeats it.
inline constexpr std::size_t shown_command_bytes = 8192; // ours

// The words of a command as a shell would read them back, so that whoever approves sees
// where each begins and ends.
std::string in_words(const std::vector<std::string>& argv);

// The configured prefix that `command` begins with, whole words only; none when
// hostIPC.mode is off.
std::optional<std::string> preflight_prefix(const config::settings& s, std::string_view command);

// Looks at what a sandboxed command writes to stderr, for a Unix socket that it was refused.
class socket_refusal {
public:
  void take(std::string_view bytes); // keeps the last 64 KiB
  bool seen() const;

private:
  std::string tail_;
};

// What the person is told who is asked for the second run, and what stands between the
// outputs of the first and the second.
inline constexpr const char* retry_warning =
    "It has run in the sandbox already and failed there; what it did before that stays done, "
    "and on the host it starts from the beginning.";
inline constexpr const char* retry_marker = "piorch: allowed to run again, now on the host:\n";

} // namespace piorch::orchestration
