// What this kernel and this user's surroundings offer to a sandbox, found by
// asking and not by version numbers where that is possible. Changes nothing.
// Any thread.
#pragma once

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
// throw-away process: 0, or the errno. EBUSY: somebody else listens already (LXD, a piorch
// around this one), and a process has one listener at most.
int why_no_notification();
// What to do about it, for people.
const char* remedy_for_no_notification(int error);

// How the limits of a sandbox are enforced here.
struct limit_mechanisms {
  enum class processes_type { pid_namespace, user_limit, none };
  enum class memory_type { group, each_process };
  processes_type processes = processes_type::none;
  memory_type memory = memory_type::each_process;
};

limit_mechanisms find_limit_mechanisms();
// The pure part: `release` as uname(2) has it.
limit_mechanisms judge_limits(const std::string& release, bool root, bool memory_group);

const char* describe(limit_mechanisms::processes_type how);
const char* describe(limit_mechanisms::memory_type how);

} // namespace piorch::sandbox
