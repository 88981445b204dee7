// The create guard (sandbox/guard) as part of a job: what the job asks for, entering
// it in the command's process and serving it in this one.
#pragma once

#include "tools/piorch-init/job.hpp"
#include "tools/piorch-init/link.hpp"

namespace piorch::init {

// What PID 1 has to keep for it: looking at the memory of the processes it serves.
unsigned long long capabilities_for_guard(const job& j);

// Takes every capability from this process alone.
void drop_own_capabilities();

// Made before the fork. A job without a guard makes all of it do nothing.
class guarding {
public:
  guarding(const job& j, const link& to_broker);

  int command_end() const { return command_end_; } // -1 without a guard
  // In the child, with no_new_privs: installs the job's filter, and the guard's with it. False
  // and errno when it cannot be had.
  bool enter();
  // In PID 1, right after the fork: starts the threads and lets the child go on.
  // When that fails the child finds out and reports.
  void serve();

private:
  const job& job_;
  const link& to_broker_;
  bool wanted_ = false;
  int supervisor_end_ = -1;
  int command_end_ = -1;
};

} // namespace piorch::init
