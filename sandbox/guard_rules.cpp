#include "sandbox/guard_rules.hpp"

#include "sandbox/files.hpp"

#include <set>

namespace piorch::sandbox {

std::vector<guarded_name> guarded_names(const policy& p, const std::vector<std::string>& trees) {
  std::vector<guarded_name> out;
  const auto add = [&](init::guard_kind kind, const std::string& path) {
    std::size_t tree = 0;
    for (const std::string& t : trees)
      if (is_within(path, t) && path.size() > t.size() && t.size() > tree)
        tree = t.size();
    if (tree > 0)
      out.push_back({kind, path, tree});
  };
  const std::string dot_git = join(p.workspace, ".git");
  bool is_file = false;       // of a linked worktree or submodule
  std::set<std::string> kept; // directories above a listed path stay where they are
  for (const rule& r : p.rules) {
    if (r.what != access::protect)
      continue;
    is_file = is_file || (r.path == dot_git && r.present);
    if (r.path == dot_git || r.in_git)
      continue;
    add(init::guard_kind::absent, r.path);
    for (std::string up = parent_of(r.path); is_within(up, p.workspace); up = parent_of(up))
      if (!kept.insert(up).second)
        break;
  }
  for (const rule& r : p.rules)
    if (r.what == access::pin && r.path != dot_git && kept.count(r.path) == 0)
      add(init::guard_kind::directory, r.path);
  add(is_file ? init::guard_kind::absent : init::guard_kind::directory, dot_git);
  return out;
}

} // namespace piorch::sandbox
