#include "sandbox/git_layout.hpp"

#include "sandbox/files.hpp"

#include <algorithm>
#include <dirent.h>
#include <filesystem>
#include <optional>
#include <string_view>

namespace piorch::sandbox {

namespace {

constexpr std::size_t pointer_limit_bytes = 8192;
constexpr std::size_t config_limit_bytes = 1 << 20;
constexpr unsigned module_depth = 8; // modules/a/modules/b/…

std::string_view trimmed(std::string_view text) {
  const auto space = [](char c) { return c == ' ' || c == '\t' || c == '\r' || c == '\n'; };
  while (!text.empty() && space(text.front()))
    text.remove_prefix(1);
  while (!text.empty() && space(text.back()))
    text.remove_suffix(1);
  return text;
}

std::string resolve_from(const std::string& base, std::string_view path) {
  return !path.empty() && path.front() == '/' ? std::string(path) : join(base, path);
}

// A file with one path in it, relative to the directory it is in.
std::optional<std::string> follow_pointer(const std::string& file, std::string_view prefix = {}) {
  const auto text = read_small_file(file, pointer_limit_bytes);
  if (!text)
    return std::nullopt;
  std::string_view line = trimmed(*text);
  if (line.substr(0, prefix.size()) != prefix)
    return std::nullopt;
  return canonical(resolve_from(parent_of(file), trimmed(line.substr(prefix.size()))));
}

// core.worktree as Git writes it for a submodule; enough to check a back link.
std::optional<std::string> core_worktree(const std::string& git_dir) {
  const auto text = read_small_file(join(git_dir, "config"), config_limit_bytes);
  if (!text)
    return std::nullopt;
  bool core = false;
  std::optional<std::string> found;
  for (std::size_t at = 0; at < text->size();) {
    const std::size_t end = std::min(text->find('\n', at), text->size());
    const std::string_view line = trimmed(std::string_view(*text).substr(at, end - at));
    at = end + 1;
    if (!line.empty() && line.front() == '[')
      core = line == "[core]";
    else if (core && line.substr(0, 8) == "worktree") {
      const auto equals = line.find('=');
      if (equals != std::string_view::npos)
        found = canonical(resolve_from(git_dir, trimmed(line.substr(equals + 1))));
    }
  }
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
  const auto common = read_small_file(join(dir, "commondir"), pointer_limit_bytes);
  const auto tree = read_small_file(join(dir, "gitdir"), pointer_limit_bytes);
  if (!common || trimmed(*common) != "../.." || !tree)
    return false;
  const std::string dot_git =
      std::filesystem::path(resolve_from(dir, trimmed(*tree))).lexically_normal().string();
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
  const auto git_dir =
      S_ISREG(st->st_mode) ? follow_pointer(dot_git, "gitdir:") : canonical(dot_git);
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

std::vector<std::string> way_of_git_file(const std::string& work_tree) {
  std::vector<std::string> out;
  const std::string dot_git = join(work_tree, ".git");
  const auto st = look(dot_git);
  const auto text =
      st && S_ISREG(st->st_mode) ? read_small_file(dot_git, pointer_limit_bytes) : std::nullopt;
  constexpr std::string_view key = "gitdir:";
  if (!text || text->compare(0, key.size(), key) != 0)
    return out;
  const std::string_view path = trimmed(std::string_view(*text).substr(key.size()));
  const auto whole = std::filesystem::path(resolve_from(work_tree, path)).lexically_normal();
  std::filesystem::path up;
  for (const auto& name : whole) {
    if (name == ".git" || name.empty()) // behind the last slash
      break;
    up /= name;
    out.push_back(up.string());
  }
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
