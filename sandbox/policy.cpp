#include "sandbox/policy.hpp"

#include "sandbox/files.hpp"
#include "sandbox/git_layout.hpp"
#include "sandbox/runtimes.hpp"
#include "sandbox/scratch.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <sys/stat.h>
#include <unistd.h>

namespace piorch::sandbox {

namespace {

error refuse_workspace(const std::string& path, const std::string& why) {
  return {failure::usage, path + " cannot be the workspace: " + why +
                              "; change to a project directory or name one with --cwd"};
}

// What everybody's programs and settings are in. A caller who may write there (root) would let
// the command do so.
bool is_of_the_system(const std::string& path) {
  for (const char* own : {"/usr/src", "/usr/local/src", "/run/user"})
    if (is_within(path, own) && path != "/run/user")
      return false;
  for (const char* system : {"/bin", "/boot", "/etc", "/lib", "/lib32", "/lib64", "/run", "/sbin",
                             "/usr", "/var/lib/dpkg", "/var/spool/cron"})
    if (is_within(path, system) || is_within(system, path))
      return true;
  return false;
}

// A sandbox writes its workspace; some directories must never be one.
result<std::string> check_workspace(const policy_inputs& from) {
  const auto real = canonical(from.workspace);
  if (!real)
    return error{
        failure::usage,
        errno == ENOENT
            ? "no such directory: " + from.workspace
            : "cannot use " + from.workspace + " as the workspace: " + std::strerror(errno) +
                  (from.workspace == "." ? " (a directory above it cannot be searched)" : "")};
  if (!is_directory(*real))
    return error{failure::usage, "not a directory: " + from.workspace};
  for (const char* kernel : {"/proc", "/sys", "/dev"})
    if (is_within(*real, kernel))
      return refuse_workspace(*real, "it belongs to the kernel");
  for (const std::string& home : from.homes)
    if (is_within(home, *real))
      return refuse_workspace(*real, "it contains the home directory " + home);
  if (is_within(from.temp_dir, *real))
    return refuse_workspace(*real, "it contains the directory for temporary files");
  if (*real == scratch_parent(from.temp_dir) || *real == scratch_parent(system_temp()))
    return refuse_workspace(*real, "it holds the private directories of sandboxes");
  for (const char* name : {"extensions", "logs"})
    if (is_within(*real, join(from.agent_dir, name)))
      return refuse_workspace(*real, "it is part of Pi's own " + join(from.agent_dir, name));
  if (*real == "/")
    return refuse_workspace(*real, "it is the root directory");
  if (is_of_the_system(*real) && ::access(real->c_str(), W_OK) == 0)
    return refuse_workspace(*real, "programs and settings of the whole system are there, and you "
                                   "may write to them");
  return *real;
}

class builder {
public:
  builder(policy& p, const policy_inputs& from) : p_(p), from_(from) {}

  void hide_homes() {
    for (const std::string& home : from_.homes)
      hide(home, "the user's home directory");
    // Where variables have put them outside the home.
    hide_elsewhere(from_.agent_dir, "Pi's credentials, settings and conversations");
    hide_elsewhere(from_.state_dir, "what piorch's sessions have said");
    for (const own_directory& own : from_.extras.own) {
      p_.rules.push_back({access::own, own.path, own.name, own.reason, true});
      hidden_.push_back(own.path);
    }
    // One may lie in another (a home below the temporary directory): the outer one first.
    std::stable_sort(p_.rules.begin(), p_.rules.end(),
                     [](const rule& a, const rule& b) { return a.path < b.path; });
  }

  // Only what is hidden needs to be made visible again.
  void show(const std::string& path, const std::string& reason, bool mention_absent = false) {
    if (!hidden(path))
      return;
    const auto real = canonical(path);
    if (!real) {
      if (mention_absent)
        p_.rules.push_back({access::read, path, {}, reason, false});
      return;
    }
    p_.rules.push_back({access::read, path, *real == path ? std::string() : *real, reason, true});
  }

  void write(const std::string& path, const std::string& reason) {
    p_.rules.push_back({access::write, path, {}, reason, true});
  }

  // The host's Git writes there as well.
  void write_git(const std::string& path, const std::string& reason) {
    write(path, reason);
    p_.rules.back().plain = true;
  }

  void add(const rule& extra) {
    if (extra.what == access::read)
      show(extra.path, extra.reason);
    else if (extra.what == access::write) {
      write(extra.path, extra.reason);
      p_.rules.back().plain = extra.plain;
    }
  }

  // Where all sandboxes of the user have their private directories, after every rule that would
  // show it and before those about what is in it. What a link shows has two names.
  void hide_private_directories(const std::string& temp_dir, bool always) {
    const auto& closed = from_.closed_temp_dirs;
    const bool whole = std::find(closed.begin(), closed.end(), temp_dir) != closed.end();
    const std::string parent = whole ? temp_dir : scratch_parent(temp_dir);
    std::vector<std::string> places;
    bool seen = true;
    for (const rule& r : p_.rules) {
      if (r.present && r.path != parent && is_within(parent, r.path))
        seen = r.what == access::read || r.what == access::write;
      if (!r.source.empty() && r.what != access::own && r.source != parent &&
          is_within(parent, r.source))
        places.push_back(join(r.path, relative_to(parent, r.source)));
    }
    if (seen)
      places.push_back(parent);
    // Somebody else's of that name holds nothing of ours, and may vanish before the mount.
    struct stat s {};
    const bool present = ::lstat(parent.c_str(), &s) == 0 && S_ISDIR(s.st_mode) &&
                         (whole || s.st_uid == ::geteuid());
    if (!present && !always)
      return;
    for (const std::string& place : places) {
      const auto at = std::stable_partition(p_.rules.begin(), p_.rules.end(), [&](const rule& r) {
        return !is_within(r.path, place);
      });
      p_.rules.insert(at, {access::hide,
                           place,
                           {},
                           whole ? "no private directory can be made in it"
                                 : "the private directories of all sandboxes",
                           present});
    }
  }

private:
  void hide(const std::string& directory, const char* reason) {
    const bool opened =
        std::any_of(from_.additional_read.begin(), from_.additional_read.end(),
                    [&](const std::string& path) { return is_within(directory, path); });
    if (opened || !is_directory(directory))
      return;
    p_.rules.push_back({access::hide, directory, {}, reason, true});
    hidden_.push_back(directory);
  }

  void hide_elsewhere(const std::string& directory, const char* reason) {
    const auto holds = [&](const std::string& home) { return is_within(directory, home); };
    const auto is_it = [&](const own_directory& own) { return own.path == directory; };
    if (std::none_of(from_.homes.begin(), from_.homes.end(), holds) &&
        std::none_of(from_.extras.own.begin(), from_.extras.own.end(), is_it))
      hide(directory, reason);
  }

  bool hidden(const std::string& path) const {
    return std::any_of(hidden_.begin(), hidden_.end(),
                       [&](const std::string& home) { return is_within(path, home); });
  }

  policy& p_;
  const policy_inputs& from_;
  std::vector<std::string> hidden_;
};

void show_git(builder& b, const git_layout& git, bool read_only) {
  using kind = git_layout::kind_type;
  if (read_only) {
    if (git.kind == kind::worktree || git.kind == kind::submodule)
      for (const std::string& path : {git.common_dir, git.git_dir})
        b.show(path, "the repository that this work tree belongs to");
    return;
  }
  if (git.kind == kind::worktree) {
    b.show(git.common_dir, "the repository that this work tree belongs to");
    for (const char* name : {"objects", "refs", "logs"})
      if (is_directory(join(git.common_dir, name)))
        b.write_git(join(git.common_dir, name), "commits of this linked work tree go here");
    b.write_git(git.git_dir, "the Git directory of this linked work tree");
  } else if (git.kind == kind::submodule)
    b.write_git(git.git_dir, "the Git directory of this submodule");
}

} // namespace

bool policy_extras::keeps_temp_dir(const std::string& temp_dir) const {
  return std::any_of(own.begin(), own.end(),
                     [&](const own_directory& one) { return one.path == temp_dir; });
}

const char* name_of(access what) {
  switch (what) {
    case access::hide:
      return "hide";
    case access::own:
      return "own";
    case access::read:
      return "read";
    case access::write:
      return "write";
    case access::pin:
      return "pin";
    case access::protect:
      return "protect";
  }
  return "?";
}

result<policy> make_policy(const config::settings& settings, const policy_inputs& from) {
  for (const std::string& home : from.homes)
    if (home == "/")
      return error{failure::sandbox_unavailable,
                   "the home directory is /, which cannot be hidden from a sandbox: set HOME to "
                   "the directory that holds your private files"};
  if (from.agent_dir == "/")
    return error{failure::sandbox_unavailable,
                 "Pi's directory is /, which cannot be hidden from a sandbox: set "
                 "PI_CODING_AGENT_DIR to another one"};
  auto workspace = check_workspace(from);
  if (!workspace)
    return std::move(workspace).failed();
  policy p;
  p.workspace = *workspace;
  p.temp_dir = from.temp_dir;
  p.settings = settings;

  builder b(p, from);
  b.hide_homes();
  for (const std::string& home : from.homes) {
    b.show(join(home, ".gitconfig"), "Git's user settings");
    b.show(join(home, ".config/git/config"), "Git's user settings");
  }
  for (const runtime_path& r : find_runtimes(from.search_path, p.workspace, from.homes))
    b.show(r.path, r.reason);
  b.show(from.libexec_dir, "piorch's own helpers");
  for (const std::string& path : settings.filesystem.additional_allow_read)
    b.show(path, "filesystem.additionalAllowRead", true);
  for (const std::string& path : from.additional_read)
    b.show(path, "--allow-read", true);
  show_git(b, find_git(p.workspace), from.extras.git_read_only);
  b.write(p.workspace, "the workspace");
  for (const rule& extra : from.extras.rules)
    b.add(extra);
  b.hide_private_directories(from.temp_dir, true);
  if (from.temp_dir != system_temp())
    b.hide_private_directories(system_temp(), false);
  return p;
}

} // namespace piorch::sandbox
