#include "sandbox/git_layout.hpp"

#include "sandbox/files.hpp"
#include "sandbox/guard/components.hpp"
#include "sandbox/guard/git_config.hpp"
#include "sandbox/guard/git_file.hpp"

#include <algorithm>
#include <climits>
#include <dirent.h>
#include <filesystem>
#include <optional>
#include <string_view>
#include <unistd.h>

namespace piorch::sandbox {

namespace {

constexpr std::size_t pointer_limit_bytes = 1 << 20; // Git's own for a `.git` file
constexpr unsigned module_depth = 8;                 // modules/a/modules/b/…

std::string resolve_from(const std::string& base, std::string_view path) {
  return !path.empty() && path.front() == '/' ? std::string(path) : join(base, path);
}

std::string read_pointer(const std::string& file) {
  return read_small_file(file, pointer_limit_bytes).value_or("");
}

// A path that Git reads in a file of `directory`.
std::optional<std::string> follow(const std::string& directory, std::string_view path) {
  return path.empty() ? std::nullopt : canonical(resolve_from(directory, path));
}

std::optional<std::string> follow_pointer(const std::string& file) {
  return follow(parent_of(file), guard::path_in_pointer(read_pointer(file)));
}

// Of a submodule; the last one counts.
std::optional<std::string> core_worktree(const std::string& git_dir) {
  const auto text = read_small_file(join(git_dir, "config"), guard::config_bytes_at_most);
  std::vector<guard::config_entry> entries;
  std::optional<std::string> found;
  if (text && guard::parse_config(*text, entries))
    for (const auto& e : entries)
      if (e.section == "core" && e.subsection.empty() && e.key == "worktree")
        found = follow(git_dir, e.value);
  return found;
}

// One whose work tree is named nowhere: made in a sandbox, whose guard leaves that out. It counts
// at the place that Git gives to the submodule with the path of the work tree.
bool is_at_its_place(const std::string& git_dir, const std::string& work_tree) {
  constexpr std::string_view modules = "/.git/modules/";
  const auto at = git_dir.find(modules);
  return at != std::string::npos &&
         work_tree == join(git_dir.substr(0, at), git_dir.substr(at + modules.size()));
}

std::vector<std::string> directories_in(const std::string& path) {
  std::vector<std::string> out;
  if (DIR* entries = ::opendir(path.c_str())) {
    while (const dirent* e = ::readdir(entries)) {
      const std::string name = e->d_name;
      if (name != "." && name != ".." && is_directory(join(path, name)))
        out.push_back(name);
    }
    ::closedir(entries);
  }
  std::sort(out.begin(), out.end());
  return out;
}

constexpr const char* runs_programs = "through it the host's Git runs programs";
constexpr const char* redirects = "tells the host's Git where the repository is";

void add(const std::string& git_dir, const std::string& name, const char* reason,
         std::vector<protected_path>& out, bool only_present, bool by_guard = false) {
  const bool present = exists(join(git_dir, name));
  if (present || !only_present)
    out.push_back({name, reason, present, present && by_guard});
}

// Git runs none of these, and the create guard lets nothing else appear beside them.
bool has_only_samples(const std::string& hooks) {
  constexpr std::string_view end = ".sample";
  const auto st = look(hooks);
  DIR* entries = st && S_ISDIR(st->st_mode) ? ::opendir(hooks.c_str()) : nullptr;
  bool only = entries != nullptr;
  while (const dirent* e = only ? ::readdir(entries) : nullptr) {
    const std::string_view name = e->d_name;
    only = name == "." || name == ".." ||
           (name.size() > end.size() && name.substr(name.size() - end.size()) == end);
  }
  if (entries)
    ::closedir(entries);
  return only;
}

// `dir`: of a linked work tree, in the repository's Git directory. As text, for the tree may
// be gone already.
bool leads_into(const std::string& dir, const std::string& workspace) {
  const std::string common = read_pointer(join(dir, "commondir")),
                    tree = read_pointer(join(dir, "gitdir"));
  const auto path = guard::path_in_pointer(tree);
  if (guard::path_in_pointer(common) != "../.." || path.empty())
    return false;
  const std::string dot_git =
      std::filesystem::path(resolve_from(dir, path)).lexically_normal().string();
  return is_within(dot_git, workspace) && parent_of(dot_git) != workspace;
}

void add_modules(const std::string& git_dir, const std::string& prefix, unsigned depth,
                 std::vector<protected_path>& out) {
  if (depth == 0)
    return;
  for (const std::string& name : directories_in(join(git_dir, prefix))) {
    const std::string module = prefix + "/" + name;
    if (!exists(join(git_dir, module + "/HEAD"))) { // a module's name may have slashes
      add_modules(git_dir, module, depth - 1, out);
      continue;
    }
    // config is left to the create guard, which checks what is added to it
    add(git_dir, module + "/hooks", runs_programs, out, true,
        has_only_samples(join(git_dir, module + "/hooks")));
    add(git_dir, module + "/config.worktree", runs_programs, out, true);
    add(git_dir, module + "/commondir", redirects, out, true);
    if (is_directory(join(git_dir, module + "/modules")))
      add_modules(git_dir, module + "/modules", depth - 1, out);
  }
}

} // namespace

bool is_repository(const std::string& common_dir) {
  return exists(join(common_dir, "objects")) && exists(join(common_dir, "refs"));
}

git_layout find_git(const std::string& work_tree) {
  git_layout out;
  const std::string dot_git = join(work_tree, ".git");
  const auto st = look(dot_git);
  if (!st)
    return out;
  out.kind = git_layout::kind_type::foreign;
  if (S_ISDIR(st->st_mode)) {
    out.kind = git_layout::kind_type::directory;
    out.git_dir = out.common_dir = dot_git;
    return out;
  }
  auto git_dir = canonical(dot_git);
  if (git_dir && !is_directory(*git_dir))
    git_dir = follow(work_tree, guard::path_in_git_file(read_pointer(*git_dir)));
  if (!git_dir || !is_directory(*git_dir))
    return out;
  const auto common = follow_pointer(join(*git_dir, "commondir"));
  if (!common && is_open(*git_dir) && !is_repository(*git_dir))
    return out;
  out.git_dir = *git_dir;
  out.common_dir = common.value_or(*git_dir);
  if (!S_ISREG(st->st_mode) || is_within(*git_dir, work_tree))
    return out; // what a worker can write cannot vouch for itself
  if (const auto back = follow_pointer(join(*git_dir, "gitdir")); back && *back == dot_git) {
    if (common && parent_of(parent_of(*git_dir)) == *common)
      out.kind = git_layout::kind_type::worktree;
  } else if (const auto tree = core_worktree(*git_dir);
             !common && (tree ? *tree == work_tree : is_at_its_place(*git_dir, work_tree))) {
    out.kind = git_layout::kind_type::submodule;
  }
  return out;
}

namespace {

void add_ways(const std::string& work_tree, std::string_view rest, std::vector<std::string>& out) {
  if (rest.size() >= PATH_MAX) // whatever it is, nobody can watch it
    return out.push_back(resolve_from(work_tree, rest));
  if (rest.empty())
    return;
  auto names = guard::components(rest.front() == '/' ? "" : work_tree);
  const auto add = [&] {
    std::string way;
    for (auto name = names.begin(); name != names.end() && *name != ".git"; ++name)
      (way += '/') += *name;
    if (!way.empty())
      out.push_back(std::move(way));
  };
  bool named = false;
  for (auto one = guard::take_component(rest); !one.empty(); one = guard::take_component(rest)) {
    if (one == ".")
      continue;
    if (one != "..") {
      names.emplace_back(one);
      named = true;
      continue;
    }
    if (named) // the guard writes none: it depends on what that name is
      add();
    named = false;
    if (!names.empty())
      names.pop_back();
  }
  add();
}

} // namespace

std::vector<std::string> ways_of_git_file(const std::string& work_tree) {
  std::vector<std::string> out;
  const std::string dot_git = join(work_tree, ".git");
  char target[PATH_MAX];
  if (const auto n = ::readlink(dot_git.c_str(), target, sizeof target); n > 0)
    add_ways(work_tree, {target, static_cast<std::size_t>(n)}, out);
  // From behind a link, too, Git goes on from where the link is.
  const std::string text = read_pointer(canonical(dot_git).value_or(dot_git));
  add_ways(work_tree, guard::path_in_git_file(text), out);
  return out;
}

std::vector<protected_path> protect_git_dir(const std::string& git_dir,
                                            const std::string& workspace) {
  std::vector<protected_path> out;
  const bool own = git_dir == join(workspace, ".git") || !is_within(git_dir, workspace);
  const bool of_tree = leads_into(git_dir, workspace);
  add(git_dir, "hooks", runs_programs, out, false,
      !own && has_only_samples(join(git_dir, "hooks")));
  add(git_dir, "config.worktree", runs_programs, out, false, of_tree);
  add(git_dir, "commondir", redirects, out, false, of_tree);
  add(git_dir, "gitdir", redirects, out, true, of_tree);
  add_modules(git_dir, "modules", module_depth, out);
  for (const std::string& name : directories_in(join(git_dir, "worktrees"))) {
    const std::string tree = "worktrees/" + name;
    const bool inside = leads_into(join(git_dir, tree), workspace);
    add(git_dir, tree + "/config.worktree", runs_programs, out, true, inside);
    for (const char* file : {"/commondir", "/gitdir"})
      add(git_dir, tree + file, redirects, out, true, inside);
  }
  return out;
}

} // namespace piorch::sandbox
