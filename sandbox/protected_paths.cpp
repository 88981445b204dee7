#include "sandbox/protected_paths.hpp"

#include "config/limits.hpp"
#include "sandbox/files.hpp"
#include "sandbox/followed_links.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <dirent.h>
#include <fcntl.h>
#include <string_view>
#include <unistd.h>

namespace piorch::sandbox {

namespace {

struct fixed_name {
  std::string_view path;
  std::string_view reason;
};

constexpr std::string_view by_pi = "loaded by Pi on the host";
constexpr std::string_view by_shell = "read by shells and tools on the host";
constexpr std::string_view by_editor = "run by editors and agents on the host";
constexpr std::string_view is_secret = "secrets of the project";

constexpr std::array fixed_names{
    fixed_name{".pi/settings.json", by_pi},
    fixed_name{".pi/sandbox.json", by_pi},
    fixed_name{".pi/pi-auto-review.json", by_pi},
    fixed_name{".pi/mcp.json", by_pi},
    fixed_name{".pi/extensions", by_pi},
    fixed_name{".pi/skills", by_pi},
    fixed_name{".pi/prompts", by_pi},
    fixed_name{".pi/commands", by_pi}, // Pi renames it to prompts when it starts
    fixed_name{".pi/themes", by_pi},
    fixed_name{".pi/agents", by_pi},
    fixed_name{".pi/chains", by_pi},
    // Of pi-subagents, at its old place and from 0.49 on: what is planned there is run.
    fixed_name{".pi/subagents/schedules", by_pi},
    fixed_name{".pi/subagents/project-panes", by_pi},
    fixed_name{".pi-subagents/schedules", by_pi},
    fixed_name{".pi-subagents/project-panes", by_pi},
    fixed_name{".pi/npm", by_pi},
    fixed_name{".pi/git", by_pi},
    fixed_name{".pi/SYSTEM.md", by_pi},
    fixed_name{".pi/APPEND_SYSTEM.md", by_pi},
    fixed_name{".agents", by_pi}, // skills, and agents of pi-subagents
    fixed_name{".bashrc", by_shell},
    fixed_name{".bash_profile", by_shell},
    fixed_name{".profile", by_shell},
    fixed_name{".zshrc", by_shell},
    fixed_name{".zprofile", by_shell},
    fixed_name{".gitconfig", by_shell},
    fixed_name{".gitmodules", by_shell},
    fixed_name{".ripgreprc", by_shell},
    fixed_name{".mcp.json", by_editor},
    fixed_name{".vscode", by_editor},
    fixed_name{".idea", by_editor},
    fixed_name{".claude/commands", by_editor},
    fixed_name{".claude/agents", by_editor},
    fixed_name{".env", is_secret},
    fixed_name{".env.local", is_secret},
    fixed_name{".env.development", is_secret},
    fixed_name{".env.development.local", is_secret},
    fixed_name{".env.test", is_secret},
    fixed_name{".env.test.local", is_secret},
    fixed_name{".env.production", is_secret},
    fixed_name{".env.production.local", is_secret},
    fixed_name{".env.staging", is_secret},
    fixed_name{".env.staging.local", is_secret},
    fixed_name{".env.ci", is_secret},
    fixed_name{"secrets", is_secret},
    fixed_name{".secrets", is_secret},
};

constexpr std::array<std::string_view, 10> skipped_directories{
    ".git",  "node_modules", "dist",   "build",  "coverage",
    ".next", ".turbo",       ".cache", "target", "vendor"};

bool ends_with(std::string_view text, std::string_view end) {
  return text.size() >= end.size() && text.substr(text.size() - end.size()) == end;
}

class walker {
public:
  walker(const std::string& workspace, walk_result& out) : workspace_(workspace), out_(out) {}

  void walk(ipc::unique_fd directory, const std::string& prefix, unsigned level) {
    DIR* entries = ::fdopendir(directory.get());
    if (!entries)
      return;
    directory.release();
    std::vector<std::string> below;
    while (const dirent* e = ::readdir(entries)) {
      const std::string name = e->d_name;
      if (name == "." || name == "..")
        continue;
      if (out_.secrets.size() > limits::protected_secrets)
        break;
      take(::dirfd(entries), prefix, name, e->d_type, level, below);
    }
    for (const std::string& name : below) {
      ipc::unique_fd next(::openat(::dirfd(entries), name.c_str(),
                                   O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC));
      if (next && ::faccessat(next.get(), ".", X_OK, AT_EACCESS) == 0)
        walk(std::move(next), prefix + name + "/", level + 1);
      else if (errno == EACCES)
        out_.secrets.push_back({prefix + name, closed_directory, true});
    }
    ::closedir(entries);
  }

private:
  void take(int at, const std::string& prefix, const std::string& name, unsigned char type,
            unsigned level, std::vector<std::string>& below) {
    if (type == DT_UNKNOWN) { // some file systems do not say
      struct stat st {};
      if (::fstatat(at, name.c_str(), &st, AT_SYMLINK_NOFOLLOW) != 0)
        return;
      type = S_ISDIR(st.st_mode) ? DT_DIR : S_ISLNK(st.st_mode) ? DT_LNK : DT_REG;
    }
    const bool directory = type == DT_DIR;
    if (name == ".git" && !prefix.empty())
      out_.repositories.push_back(prefix.substr(0, prefix.size() - 1));
    if (is_secret_name(name, directory) || (type == DT_LNK && is_secret_name(name, true)))
      // A command can make some: what it links to in one would be closed to the next command.
      add_followed(workspace_, join(workspace_, prefix + name), is_secret, entries::left,
                   out_.secrets);
    else if (directory && level < limits::secret_walk_depth &&
             std::find(skipped_directories.begin(), skipped_directories.end(), name) ==
                 skipped_directories.end())
      below.push_back(name);
  }

  const std::string& workspace_;
  walk_result& out_;
};

} // namespace

bool is_secret_name(const std::string& name, bool directory) {
  if (directory && (name == "secrets" || name == ".secrets"))
    return true;
  if (name.compare(0, 4, ".env") == 0) {
    for (const std::string_view harmless : {".example", ".sample", ".template", ".dist"})
      if (ends_with(name, harmless))
        return false;
    return !directory;
  }
  for (const std::string_view kind : {".pem", ".key", ".p12", ".pfx"})
    if (ends_with(name, kind) && name.size() > kind.size())
      return true;
  return false;
}

std::vector<protected_path> protect_fixed_names(const std::string& workspace) {
  std::vector<protected_path> out;
  for (const fixed_name& f : fixed_names)
    add_followed(workspace, join(workspace, f.path), f.reason, entries::followed, out);
  return out;
}

walk_result walk_workspace(const std::string& workspace) {
  walk_result out;
  ipc::unique_fd root(::open(workspace.c_str(), O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  if (root)
    walker(workspace, out).walk(std::move(root), "", 1);
  return out;
}

} // namespace piorch::sandbox
