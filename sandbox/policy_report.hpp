// The effective policy of a directory for people and for programs: what
// `piorch policy` prints. Pure; any thread.
#pragma once

#include "sandbox/facilities.hpp"
#include "sandbox/policy.hpp"

#include <string>

namespace piorch::sandbox {

struct policy_report {
  policy rules;              // surveyed
  std::string settings_file; // "": the defaults
  // Can the create guard be had here? Without it no command is started.
  bool guarded = false;
  std::string unguarded_because;    // and what to do about it
  bool guard_interruptible = false; // guard_support::interruptible
  limit_mechanisms limits;
};

// Lines of text. Paths that a terminal would not show as they are, are quoted and
// escaped; inside the workspace they are relative to it.
std::string policy_text(const policy_report& r, bool colour);

// One JSON document (docs/policy.md).
std::string policy_json(const policy_report& r);

} // namespace piorch::sandbox
