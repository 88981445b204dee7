// A policy as the ordered list of operations that make the sandbox: data first,
// effects later (bwrap_args, init_job, and in text for people). Pure; any thread.
#pragma once

#include "sandbox/policy.hpp"

#include <string>
#include <vector>

namespace piorch::sandbox {

struct mount_op {
  enum class kind_type {
    ro_bind,    // source (or path) at path, read-only
    bind,       // the same, writable
    tmpfs,      // empty
    dev,        // a minimal /dev
    proc,       // of the new PID namespace
    remount_ro, // no further writes to the mount at path
  };
  kind_type kind;
  std::string path;
  std::string source = {};    // empty: path itself
  std::size_t size_limit = 0; // tmpfs: bytes, 0: the kernel's default
  unsigned mode = 0755;       // tmpfs
};

// What piorch-init does inside a writable tree: paths that exist.
struct inner_mount {
  std::size_t tree; // index into plan::trees
  std::string path; // relative to it
  bool read_only;   // otherwise only pinned
};

struct plan {
  std::vector<mount_op> outer;    // by bubblewrap, in this order
  std::vector<std::string> trees; // the writable ones, absolute
  std::vector<inner_mount> inner; // by piorch-init, parents first
};

// `scratch` is the private temporary directory, "" when there is none. The walls are whole
// by themselves, without the create guard.
plan make_plan(const policy& p, const std::string& scratch);

// The inner part alone, for a policy that was surveyed after the outer part was
// on its way. `trees` is that of the plan.
// `guarded`: the create guard is at work inside, which keeps directories in their places.
std::vector<inner_mount> plan_inner(const policy& p, const std::vector<std::string>& trees,
                                    bool guarded);

} // namespace piorch::sandbox
