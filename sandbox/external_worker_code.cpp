#include "sandbox/external_worker_examiner.hpp"

#include "sandbox/files.hpp"
#include "sandbox/git_layout.hpp"

#include <algorithm>

namespace piorch::sandbox {

namespace {

// Where the names of an --extension's imports are found: all packages beside it, its own
// package, or it alone.
std::string package_around(const std::string& file, const std::vector<std::string>& too_much) {
  const auto fits = [&](const std::string& directory) {
    return std::none_of(too_much.begin(), too_much.end(),
                        [&](const std::string& p) { return is_within(p, directory); });
  };
  if (const auto at = file.find("/node_modules/"); at != std::string::npos)
    if (const std::string all = file.substr(0, at) + "/node_modules"; fits(all))
      return all;
  for (std::string up = parent_of(file); up != "/" && fits(up); up = parent_of(up))
    if (exists(join(up, "package.json")))
      return up;
  return file;
}

} // namespace

void worker_examiner::code(const std::string& path, const char* reason) {
  if (path.empty() || path.front() != '/')
    return; // relative to the workspace
  const auto real = canonical(path);
  if (!real)
    return fail("--extension", path, "does not exist");
  for (const std::string& one : {path, *real})
    if (!is_within(one, from_.workspace) && !is_within(one, from_.agent_dir))
      rule(access::read, package_around(one, too_much_), reason);
}

void worker_examiner::read_programs() {
  for (const std::string& word : from_.program)
    if (!word.empty() && word.front() == '/')
      code(word, "Pi");
  if (const auto root = value("PI_SUBAGENTS_PI_CODING_AGENT_PACKAGE_ROOT"); !root.empty())
    code(join(root, "package.json"), "Pi");
  for (const std::string& path : from_.readable)
    if (!path.empty() && path.front() == '/' && exists(path) && !is_within(from_.workspace, path) &&
        !is_within(path, from_.workspace))
      rule(access::read, path, "named by the Pi package");
  linked_packages();
  for (const std::string& home : from_.homes)
    if (const auto skills = join(home, ".agents/skills"); is_directory(skills))
      rule(access::read, skills, "the user's skills");
}

// pi-subagents links a managed worktree's node_modules to those of the repository.
void worker_examiner::linked_packages() {
  const git_layout git = find_git(from_.workspace);
  const auto packages = canonical(join(from_.workspace, "node_modules"));
  if (git.kind == git_layout::kind_type::worktree && packages &&
      *packages == join(parent_of(git.common_dir), "node_modules") && is_directory(*packages))
    rule(access::read, *packages, "the packages of the repository");
}

} // namespace piorch::sandbox
