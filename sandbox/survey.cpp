#include "sandbox/survey.hpp"

#include "config/limits.hpp"
#include "sandbox/files.hpp"
#include "sandbox/followed_links.hpp"
#include "sandbox/git_layout.hpp"
#include "sandbox/git_programs.hpp"
#include "sandbox/guard/components.hpp"
#include "sandbox/guard/git_file.hpp"
#include "sandbox/protected_paths.hpp"
#include "sandbox/runtimes.hpp"

#include <algorithm>
#include <climits>
#include <filesystem>
#include <optional>
#include <set>
#include <system_error>

namespace piorch::sandbox {

namespace {

// The writable tree that holds `path`, or nullptr.
const rule* tree_of(const policy& p, const std::string& path) {
  const rule* best = nullptr;
  for (const rule& r : p.rules)
    if (r.what == access::write && is_within(path, r.path) &&
        (!best || r.path.size() > best->path.size()))
      best = &r;
  for (const rule* r = best; r && r != p.rules.data() + p.rules.size(); ++r)
    if (r->what == access::hide && is_within(path, r->path)) // hidden after all
      return nullptr;
  return best;
}

class protector {
public:
  explicit protector(policy& p) : p_(p) {}

  void add(const std::string& root, const protected_path& found, bool in_git = false) {
    const std::string path = join(root, found.path);
    if (!tree_of(p_, path))
      return;
    if (found.present)
      found_.push_back({access::protect, path, {}, found.reason, true, in_git, found.by_guard});
    else
      absent_.push_back({access::protect, path, {}, found.reason, false, in_git});
  }

  // What the links of a protected path lead to, which is added otherwise itself.
  void follow(const std::string& path, const std::string& reason) {
    std::vector<protected_path> found;
    add_followed(p_.workspace, path, reason, entries::followed, found);
    for (const protected_path& one : found)
      if (join(p_.workspace, one.path) != path)
        add(p_.workspace, one);
  }

  void add_pin(const std::string& path, const std::string& reason, bool by_guard) {
    pins_.push_back({access::pin, path, {}, reason, true, false, by_guard});
  }

  // Nothing but mkdir makes the names of this path, be they there or not.
  void add_way(const std::string& git_file, std::string path) {
    const rule* tree = tree_of(p_, path);
    if (std::error_code none; !tree) { // by a link of the host's it may come back
      path = std::filesystem::weakly_canonical(path, none).string();
      tree = tree_of(p_, path);
    }
    if (!tree || tree->path == path || !ways_.insert(path).second)
      return;
    const auto names = guard::components(relative_to(path, tree->path)).size();
    if (names > guard::git_file_names_at_most || path.size() >= PATH_MAX)
      refuse_way(git_file + " has a path of more than 64 names, or too long a one, and links "
                            "cannot be kept out of all of it; shorten it, or remove the file");
    else if ((watched_names_ += names) > guard::watched_names_at_most)
      refuse_way(git_file + " is one .git file too many: together they lead through more "
                            "directories than links can be kept out of; remove those that are not "
                            "needed");
    else
      pins_.push_back(
          {access::pin, path, {}, "a .git file leads through it", is_directory(path), false, true});
  }

  const std::optional<error>& refused() const { return refused_; }

  // Every directory above a protected path is pinned, or renaming it would
  // bring the name within reach (facts: `mv a c; mkdir a`). Parents first.
  void finish() {
    for (const rule& r : found_)
      for (std::string up = parent_of(r.path);
           is_within(up, tree_of(p_, r.path)->path) && up != tree_of(p_, r.path)->path;
           up = parent_of(up))
        pins_.push_back({access::pin, up, {}, "holds a protected path", true, false, true});
    found_.insert(found_.end(), pins_.begin(), pins_.end());
    const auto order = [](const rule& a, const rule& b) {
      if (a.path != b.path || a.what != b.what)
        return a.path != b.path ? a.path < b.path : a.what > b.what;
      return a.in_git != b.in_git ? b.in_git : b.by_guard && !a.by_guard; // the stricter first
    };
    std::sort(found_.begin(), found_.end(), order);
    // Where the guard protects by what a directory is, a pin stays beside it: it may be another.
    found_.erase(std::unique(found_.begin(), found_.end(),
                             [](const rule& a, const rule& b) {
                               return a.path == b.path && (a.what == b.what || !a.by_guard);
                             }),
                 found_.end());
    // Below a directory that is mounted everything is protected already.
    const rule* cover = nullptr;
    for (const rule& r : found_) {
      if (cover && is_within(r.path, cover->path))
        continue;
      p_.rules.push_back(r);
      cover = r.what == access::protect && !r.by_guard ? &r : nullptr;
    }
    std::sort(absent_.begin(), absent_.end(), order);
    p_.rules.insert(p_.rules.end(), absent_.begin(), absent_.end());
  }

private:
  void refuse_way(std::string why) {
    if (!refused_)
      refused_ = error{failure::usage, std::move(why)};
  }

  policy& p_;
  std::vector<rule> found_, absent_, pins_;
  std::set<std::string> ways_;
  std::size_t watched_names_ = 0; // in them
  std::optional<error> refused_;
};

// A nested repository may be removed as a whole, as long as that takes nothing with it that the
// host's Git runs: what is in it is left to the create guard then.
void protect_git(protector& out, const policy& p, const std::string& work_tree,
                 const git_layout& git) {
  using kind = git_layout::kind_type;
  const bool nested = work_tree != p.workspace;
  const std::string dot_git = join(work_tree, ".git");
  if (git.kind == kind::none)
    return;
  for (const std::string& way : ways_of_git_file(work_tree))
    out.add_way(dot_git, way);
  if (const auto real = canonical(dot_git); real && *real != dot_git && !is_directory(*real))
    out.follow(dot_git, "tells the host's Git where the repository is");
  if (git.kind == kind::directory)
    out.add_pin(dot_git, "the repository itself must not be replaced", nested);
  else
    out.add(work_tree,
            {".git", "tells the host's Git where the repository is", true,
             nested && git.kind != kind::foreign && is_within(git.git_dir, p.workspace)},
            nested);
  if (!git.git_dir.empty() && !is_open(git.git_dir))
    out.add(parent_of(git.git_dir), {git.git_dir.substr(git.git_dir.rfind('/') + 1),
                                     "cannot be looked into, so all of it is protected", true});
  else if (git.kind != kind::foreign || !git.git_dir.empty()) {
    const bool repository = is_repository(git.common_dir); // no link was planted in it
    for (const protected_path& found : protect_git_dir(git.git_dir, p.workspace)) {
      out.add(git.git_dir, found, true);
      if (found.present && !found.by_guard && repository)
        out.follow(join(git.git_dir, found.path), found.reason);
    }
    if (repository)
      out.follow(join(git.common_dir, "config"), "settings of the host's Git");
    if (repository && git.common_dir != git.git_dir)
      out.follow(join(git.common_dir, "hooks"), "the host's Git runs it");
  }
}

// What the host's Git runs from the work tree, and from others, by settings that were there before.
void protect_programs(protector& out, policy& p, const std::string& work_tree,
                      const git_layout& git, const std::vector<std::string>& homes) {
  const git_programs programs = find_git_programs(work_tree, git, homes);
  for (const tree_program& one : programs.in_trees)
    if (std::none_of(p.tree_programs.begin(), p.tree_programs.end(),
                     [&](const tree_program& known) {
                       return known.path == one.path && known.linked == one.linked;
                     }))
      p.tree_programs.push_back(one);
  if (git.kind == git_layout::kind_type::none)
    return;
  for (const protected_path& found : programs.here) {
    if (is_within(found.path, p.workspace) && found.path != p.workspace)
      out.add(p.workspace, {relative_to(found.path, p.workspace), found.reason, found.present});
    out.follow(found.path, found.reason);
  }
}

// The workspace can be a part of a work tree: Git looks upwards.
void protect_programs_of_the_tree_around(protector& out, policy& p,
                                         const std::vector<std::string>& homes) {
  for (std::string at = p.workspace; at != "/";) {
    at = parent_of(at);
    const git_layout git = find_git(at);
    if (git.kind != git_layout::kind_type::none)
      return protect_programs(out, p, at, git, homes);
  }
}

} // namespace

result<done> survey_workspace(policy& p, const policy_inputs& from) {
  protector out(p);
  for (const protected_path& found : protect_fixed_names(p.workspace))
    out.add(p.workspace, found);
  const walk_result walk = walk_workspace(p.workspace);
  if (walk.secrets.size() > limits::protected_secrets)
    return error{
        failure::usage,
        p.workspace + " holds more than " + std::to_string(limits::protected_secrets) +
            " files that look like secrets (.env*, *.pem, *.key, *.p12, *.pfx); put them into "
            "one directory called secrets, which is protected as a whole"};
  for (const protected_path& found : walk.secrets)
    out.add(p.workspace, found);
  const git_layout git = find_git(p.workspace);
  protect_git(out, p, p.workspace, git);
  protect_programs(out, p, p.workspace, git, from.homes);
  if (git.kind == git_layout::kind_type::none) {
    out.add(p.workspace,
            {".git", "a repository that appears here would be run by the host's Git", false});
    protect_programs_of_the_tree_around(out, p, from.homes);
  }
  for (const std::string& nested : walk.repositories) {
    const std::string tree = join(p.workspace, nested);
    const git_layout own = find_git(tree);
    protect_git(out, p, tree, own);
    protect_programs(out, p, tree, own, from.homes);
  }
  for (const char* name : {"settings.json", "permissions.json", "sandbox.json", "pi-sandbox.json",
                           "logs", "extensions"}) {
    const std::string path = join(from.agent_dir, name);
    if (is_within(path, p.workspace)) {
      out.add(p.workspace, {relative_to(path, p.workspace), "Pi's own settings", exists(path)});
      out.follow(path, "Pi's own settings");
    }
  }
  // By its name, and where a link leads: people keep such files in a repository of
  // their own, and that repository can be the workspace.
  for (const std::string& file : from.trusted_files)
    for (const std::string& path : {file, canonical(file).value_or(file)})
      if (is_within(path, p.workspace))
        out.add(p.workspace,
                {relative_to(path, p.workspace), "piorch's own configuration", exists(path)});
  std::vector<std::string> installed{from.libexec_dir, from.program};
  for (const runtime_path& r : find_runtimes(from.search_path, {}, from.homes))
    installed.push_back(r.path);
  // Not what a link in the way shows there: a command can make one, to anywhere.
  const auto lies_there = [&](const std::string& path) {
    return is_within(path, p.workspace) && path != p.workspace && exists(path) &&
           canonical(parent_of(path)).value_or("") == parent_of(path);
  };
  for (const std::string& path : installed)
    if (lies_there(path))
      out.add(p.workspace, {relative_to(path, p.workspace), "run on the host", true});
  for (const rule& extra : from.extras.rules)
    if (extra.what == access::protect) {
      out.add(parent_of(extra.path),
              {extra.path.substr(extra.path.rfind('/') + 1), extra.reason, exists(extra.path)});
      out.follow(extra.path, extra.reason);
    }
  if (out.refused())
    return *out.refused();
  out.finish();
  return done{};
}

} // namespace piorch::sandbox
