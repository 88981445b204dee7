// Carries out the creating calls of the sandboxed programs, as themselves: on a pinned
// parent directory, with the caller's umask, never following the last name.
//
// Contract: every function returns 0 or -errno for the caller, or `answered`. The result is
// what the kernel would have said, except for a refused name: EACCES, and a report. Nothing
// is ever continued in the kernel, whose second look at the caller's memory may see
// another path. Files are handed over as descriptors.
//
// The supervisor has no right that the caller lacks but looking into other processes,
// which is taken away where it could matter (walk). It has the same user, the same mounts
// and no other capability, so the kernel itself enforces everything else.
#pragma once

#include "sandbox/guard/git_dir.hpp"
#include "sandbox/guard/reply.hpp"
#include "sandbox/guard/rules.hpp"
#include "sandbox/guard/walk.hpp"

#include <pthread.h>

namespace piorch::sandbox::guard {

// Told about every refusal. Any supervisor thread, may be several at a time; must not block.
struct refusal_sink {
  void (*tell)(void* context, const char* path, const char* rule) = nullptr;
  void* context = nullptr;
};

// Rules, as reports name them.
inline constexpr const char* protected_name = "protected path";
inline constexpr const char* protected_parent =
    "leads to a protected path: only mkdir, never moved";
inline constexpr const char* link_to_repository = "a link called .git";
inline constexpr const char* outside_name = "a file outside, given for reading";

// What all supervisor threads share.
struct surroundings {
  surroundings(int listener_fd, int proc_fd, int root_fd, const std::vector<rule>& protected_names,
               refusal_sink to)
      : listener(listener_fd), proc(proc_fd), root(root_fd), names(root_fd, protected_names),
        sink(to) {}

  const int listener;
  const int proc; // the supervisor's own /proc
  const int root; // the sandbox's root
  const rules names;
  const refusal_sink sink;
  // Shared by every deed; exclusive while a directory becomes a Git directory.
  pthread_rwlock_t deeds = PTHREAD_RWLOCK_INITIALIZER;
  std::uint64_t mask_changes = 0; // atomic: number of umask calls so far
};

struct umask_cache;
// One per supervisor thread: what it remembers of callers' masks.
struct thread_state {
  umask_cache* masks = nullptr;
  mode_t own_mask = 0;
};
void prepare_thread(thread_state& t); // own umask and working directory

// A reference to something that can be called and returns a descriptor, 0 or -errno.
class action {
public:
  template <class F>
  action(F& f) // NOLINT: implicit on purpose
      : object_(&f),
        call_([](void* object) { return static_cast<int>((*static_cast<F*>(object))()); }) {}
  int operator()() const { return call_(object_); }

private:
  void* object_;
  int (*call_)(void*);
};

class operations {
public:
  operations(surroundings& s, thread_state& t, caller& c) : s_(s), t_(t), c_(c) {}

  int open(int directory, const char* path, int flags, mode_t mode);
  int truncate(const char* path, off_t length);
  int make_directory(int directory, const char* path, mode_t mode);
  int make_node(int directory, const char* path, mode_t mode, dev_t device);
  int make_symlink(const char* target, int directory, const char* path);
  // The second path is an address of the caller: an error in it counts only after the first
  // path has been found, as in the kernel.
  int link(int from_directory, const char* from, int to_directory, std::uint64_t to, int flags);
  int rename(int from_directory, const char* from, int to_directory, std::uint64_t to,
             unsigned flags);
  static bool is_rename(unsigned flags);
  static int refuses_node(mode_t mode); // 0 or -errno
  int bind(int socket, std::uint64_t address, std::uint32_t length);

private:
  int make(place& at, deed what, action act);
  int rename_to_dot_git(const place& source, const place& target, action act, action undo);

  int open_present(place& at, int flags);
  int open_absent(place& at, int flags, mode_t mode);
  int open_magic(place& at, int flags);
  int open_waiting(place& at, int flags, bool close_on_exec);
  int open_terminal(int flags);
  int hand_over(int fd, bool close_on_exec);
  int hand_over_or_fail(int fd, bool close_on_exec); // -errno, or -1 with errno, or a descriptor

  // The name and directory of an open file. 0, -errno, or 1 when it has none.
  int find_name_of(int fd, place& out);
  // 0: may be written. For a file behind a magic link.
  int may_write(int fd);
  // The same for what a magic link leads to, which may be outside of the sandbox.
  int may_write_magic(const place& at, int fd);
  // Also guarded: below a protected path. Such a name can be there without a mount of its
  // own, when the host has made it since the command began.
  hit check(const place& at);
  // Of what has that name now.
  static bool is_there(const place& at);
  static bool is_link(const place& at);
  static bool is_read_only(const place& at);
  int find_second(const place& first, int directory, std::uint64_t path, place& out);
  int refuse(const place& at, const char* rule);
  int use_callers_mask();

  surroundings& s_;
  thread_state& t_;
  caller& c_;
};

} // namespace piorch::sandbox::guard
