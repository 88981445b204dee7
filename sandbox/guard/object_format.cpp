#include "sandbox/guard/object_format.hpp"

#include "ipc/unique_fd.hpp"
#include "sandbox/guard/config_file.hpp"
#include "sandbox/guard/entries.hpp"
#include "sandbox/guard/git_index.hpp"
#include "sandbox/guard/git_keys.hpp"
#include "sandbox/guard/git_state.hpp"
#include "sandbox/guard/rules.hpp"
#include "sandbox/guard/state_file.hpp"

namespace piorch::sandbox::guard {

using ipc::unique_fd;

namespace {

constexpr std::size_t files_at_most = 200'000;

// Or one that has been moved from there.
bool is_work_trees_own(int directory) {
  struct stat named {
  }, up{};
  return ::fstatat(directory, "commondir", &named, AT_SYMLINK_NOFOLLOW) == 0 ||
         (::fstatat(directory, "../../worktrees", &named, AT_SYMLINK_NOFOLLOW) == 0 &&
          ::fstatat(directory, "..", &up, 0) == 0 && inode_of(named) == inode_of(up));
}

// Where it cannot be told: yes, which refuses more.
bool has_sha256(int directory, const char* config) {
  std::string text;
  struct stat s {};
  const int e = read_regular(directory, config, text, s);
  return e != -ENOENT && (e != 0 || may_be_sha256(text));
}

} // namespace

bool may_read_as_sha256(int directory) {
  // A work tree's own directory may be, or become, a repository by itself, too.
  return has_sha256(directory, "config") ||
         (is_work_trees_own(directory) && has_sha256(directory, "../../config"));
}

int settings_lock(int directory) {
  if (!is_work_trees_own(directory))
    return -1;
  const unique_fd of_all(open_path(directory, "../..", O_DIRECTORY));
  return of_all.get() < 0 ? of_all.get() : creation_lock(of_all.get());
}

bool may_become_sha256(int directory) {
  std::size_t left = files_at_most;
  const auto check_indexes = [&](int tree) {
    return for_each_entry(tree, left, [](int own, const char* name) {
      std::string text;
      struct stat s {};
      if (!is_index_name(folded(name)))
        return 0;
      return read_regular(own, name, text, s, most_bytes(state_file::index)) == 0 &&
                     !bad_index(text, 32)
                 ? 0
                 : -EACCES;
    });
  };
  const unique_fd trees(open_path(directory, "worktrees", O_DIRECTORY | O_NOFOLLOW));
  return check_indexes(directory) == 0 &&
         (trees.get() == -ENOENT ||
          (trees.get() >= 0 && for_each_entry(trees.get(), left, [&](int all, const char* one) {
                                 const unique_fd tree(
                                     open_path(all, one, O_DIRECTORY | O_NOFOLLOW));
                                 return tree.get() < 0 ? -EACCES : check_indexes(tree.get());
                               }) == 0));
}

} // namespace piorch::sandbox::guard
