#include "sandbox/plan.hpp"

#include "sandbox/files.hpp"

namespace piorch::sandbox {

namespace {

constexpr std::size_t shm_limit_bytes = std::size_t{1} << 30;

using kind = mount_op::kind_type;

} // namespace

plan make_plan(const policy& p, const std::string& scratch) {
  plan out;
  out.outer.push_back({kind::ro_bind, "/"});
  out.outer.push_back({kind::proc, "/proc"});
  out.outer.push_back({kind::dev, "/dev"});
  out.outer.push_back({kind::tmpfs, "/dev/shm", {}, shm_limit_bytes, 01777});
  out.outer.push_back({kind::remount_ro, "/dev"});
  std::vector<std::string> hidden;
  bool has_own = false; // then the private directory is seen as these, not under its own name
  for (const rule& r : p.rules) {
    if (!r.present)
      continue;
    switch (r.what) {
      case access::hide:
        out.outer.push_back({kind::tmpfs, r.path});
        hidden.push_back(r.path);
        break;
      case access::own:
        out.outer.push_back({kind::bind, r.path, join(scratch, r.source)});
        has_own = true;
        break;
      case access::read:
        out.outer.push_back({kind::ro_bind, r.path, r.source});
        break;
      case access::write:
        out.outer.push_back({kind::bind, r.path, r.source});
        out.trees.push_back(r.path);
        break;
      case access::pin:
      case access::protect:
        break;
    }
  }
  if (!scratch.empty() && !has_own)
    out.outer.push_back({kind::bind, scratch});
  // A hidden directory must not take writes that would vanish (facts: say no instead).
  for (const std::string& path : hidden)
    out.outer.push_back({kind::remount_ro, path});
  out.inner = plan_inner(p, out.trees, false);
  return out;
}

std::vector<inner_mount> plan_inner(const policy& p, const std::vector<std::string>& trees,
                                    bool guarded) {
  std::vector<inner_mount> out;
  for (const rule& r : p.rules) {
    if (!r.present || (r.what != access::pin && r.what != access::protect) ||
        (guarded && r.by_guard))
      continue;
    std::size_t best = trees.size();
    for (std::size_t i = 0; i < trees.size(); ++i)
      if (is_within(r.path, trees[i]) &&
          (best == trees.size() || trees[i].size() > trees[best].size()))
        best = i;
    if (best < trees.size() && r.path != trees[best])
      out.push_back({best, relative_to(r.path, trees[best]), r.what == access::protect});
  }
  return out;
}

} // namespace piorch::sandbox
