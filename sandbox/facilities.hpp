// What this kernel and this user's surroundings offer to a sandbox, found by
// asking and not by version numbers where that is possible. Changes nothing.
// Any thread.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace piorch::sandbox {

struct facility {
  std::string name;     // "openat2"
  std::string purpose;  // what the sandbox uses it for
  std::string since;    // the Linux version that brought it
  int error = 0;        // 0: it is there
  bool required = true; // no sandbox without it
};

std::vector<facility> find_facilities();

// Can calls that make a name be handed to PID 1 here (the create guard)? Tried in a
// throw-away process.
struct guard_support {
  // 0, or the errno. EBUSY: somebody else listens already (LXD, a piorch around this one), and a
  // process has one listener at most.
  int error = 0;
  // Before Linux 5.19 a signal takes a call away from PID 1 while it is carried out; then its
  // answer is remembered and given when the call is made again (guard/lost_answers.hpp).
  bool interruptible = false;
};
guard_support find_guard_support();
// What to do about it, for people.
const char* remedy_for_no_notification(int error);

// How the limits of a sandbox are enforced here.
struct limit_mechanisms {
  enum class processes_type { pid_namespace, user_limit, none };
  enum class memory_type { group, each_process };
  processes_type processes = processes_type::none;
  memory_type memory = memory_type::each_process;
  std::uint64_t least_processes = 1; // a lower limit does not hold
};

limit_mechanisms find_limit_mechanisms();
// The pure part: `release` as uname(2) has it.
limit_mechanisms judge_limits(const std::string& release, bool root, bool memory_group);

// With the limit that holds where it is not the one `asked` for.
std::string describe_processes(const limit_mechanisms& how, std::uint64_t asked);
const char* describe(limit_mechanisms::memory_type how);

} // namespace piorch::sandbox
