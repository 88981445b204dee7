#include "sandbox/guard_rules.hpp"

#include "sandbox/files.hpp"

#include <set>

namespace piorch::sandbox {

namespace {

// Where pi-subagents keeps a project's runs and writes, on the host, what workers have said: the
// second one from 0.49 on.
constexpr const char* pi_subagents_directories[] = {".pi-subagents", ".pi/subagents"};

bool ends_with(const std::string& text, const std::string& end) {
  return text.size() >= end.size() && text.compare(text.size() - end.size(), end.size(), end) == 0;
}

} // namespace

std::vector<guarded_name> guarded_names(const policy& p, const std::vector<std::string>& trees) {
  std::vector<guarded_name> out;
  const auto add = [&](init::guard_kind kind, const std::string& path) {
    std::size_t tree = 0;
    for (const std::string& t : trees)
      if (is_within(path, t) && t.size() > tree &&
          (path.size() > t.size() || kind == init::guard_kind::plain))
        tree = t.size();
    if (tree > 0)
      out.push_back({kind, path, tree});
  };
  for (const char* directory : pi_subagents_directories)
    add(init::guard_kind::plain, join(p.workspace, directory));
  for (const rule& r : p.rules)
    if (r.what == access::write && r.plain)
      add(init::guard_kind::plain, r.path);
  const std::string dot_git = join(p.workspace, ".git");
  bool is_file = false;       // of a linked worktree or submodule
  std::set<std::string> stay; // directories above a listed path
  for (const rule& r : p.rules) {
    if (r.what != access::protect)
      continue;
    is_file = is_file || (r.path == dot_git && r.present);
    const bool pointer = r.by_guard && (ends_with(r.path, "/.git") || ends_with(r.path, "/gitdir"));
    if (r.path == dot_git || (r.in_git && !pointer))
      continue;
    add(pointer ? init::guard_kind::kept : init::guard_kind::absent, r.path);
    for (std::string up = parent_of(r.path); is_within(up, p.workspace); up = parent_of(up))
      if (!stay.insert(up).second)
        break;
  }
  for (const rule& r : p.rules)
    if (r.what == access::pin && r.path != dot_git && stay.count(r.path) == 0)
      add(init::guard_kind::directory, r.path);
  add(is_file ? init::guard_kind::absent : init::guard_kind::directory, dot_git);
  for (const tree_program& one : p.tree_programs)
    out.push_back({one.linked ? init::guard_kind::in_linked_trees : init::guard_kind::in_trees,
                   join(p.workspace, one.path), p.workspace.size()});
  return out;
}

} // namespace piorch::sandbox
