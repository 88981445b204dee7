// Where a `.git` file may lead (git_file): to a place in a writable tree, which is the same place
// on the host and where no Git directory comes into being but under the guard's eyes. Not to the
// host's other directories, nor to what only this sandbox sees.
//
// Contract: the place need not be there yet (Git writes the file first and makes the directory
// then), but no link is on the way to it, and none will be: as long as this guard lives, nothing
// but mkdir makes the names on that way. Behind a `.git` no links come into being anyway (git_dir).
// A relative text becomes absolute, for its directory may be moved; one that may stay so (of a
// submodule) keeps the directories between it and the repository where they are.
// What lies in no writable tree is gone with the sandbox, and may lead anywhere.
//
// Any thread. `check` waits for deeds under a `pause` and must not be called under one; who holds a
// `pause` waits for nothing but a creation_lock, for its second at most.
#pragma once

#include "ipc/unique_fd.hpp"
#include "sandbox/guard/kernel.hpp"

#include <atomic>
#include <pthread.h>
#include <string>
#include <string_view>
#include <vector>

namespace piorch::sandbox::guard {

inline constexpr const char* on_the_way_of_a_git_file =
    "a .git file leads through it: only mkdir, no link and nothing that was elsewhere";
inline constexpr const char* holds_a_git_file =
    "it holds a .git file that would lead elsewhere from another place";

class git_file_places {
public:
  // `trees`: absolute paths of the writable trees that the host has at the same place.
  git_file_places(int proc, const std::vector<std::string>& trees);

  // May directory/.git have this text? What it gets is in `text` then; 0, or -EACCES and `refused`.
  int check(int directory, std::string& text, std::string& refused);

  // Questions about a name, right only under a `pause` until the deed is done.
  class pause {
  public:
    explicit pause(git_file_places& of) : of_(of) { ::pthread_rwlock_rdlock(&of_.gate_); }
    ~pause() { ::pthread_rwlock_unlock(&of_.gate_); }
    pause(const pause&) = delete;
    pause& operator=(const pause&) = delete;

  private:
    git_file_places& of_;
  };
  bool may_arrive(int parent, std::string_view name) const; // other than by mkdir or as a file
  bool may_leave(int parent, std::string_view name) const;

private:
  struct way {
    int base = -1; // of a tree, or one of bases_: a directory that cannot be replaced
    std::vector<std::string> names;
    bool stays = false; // its names do not leave; otherwise nothing arrives at them
  };
  struct tree {
    std::string path;
    ipc::unique_fd directory;
  };

  const tree* tree_of(std::string_view path) const;
  bool is_on_a_way(int parent, std::string_view name, bool stays) const;
  int base_of(int directory);
  bool keep(int directory, std::vector<std::string> names, bool stays); // false: too many

  const int proc_;
  std::vector<tree> trees_;
  std::vector<way> ways_; // under the gate, as the next two
  std::vector<ipc::unique_fd> bases_;
  std::size_t watched_ = 0; // names
  std::atomic<bool> any_{false};
  mutable pthread_rwlock_t gate_ = PTHREAD_RWLOCK_INITIALIZER;
};

} // namespace piorch::sandbox::guard
