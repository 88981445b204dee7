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
#include "sandbox/guard/lost_answers.hpp"
#include "sandbox/guard/refusal.hpp"
#include "sandbox/guard/reply.hpp"
#include "sandbox/guard/rules.hpp"
#include "sandbox/guard/staged_files.hpp"
#include "sandbox/guard/tree_programs.hpp"
#include "sandbox/guard/walk.hpp"

#include <pthread.h>

namespace piorch::sandbox::guard {

// Rules, as reports name them.
inline constexpr const char* protected_name = "protected path";
inline constexpr const char* protected_parent =
    "leads to a protected path: only mkdir, never moved";
inline constexpr const char* link_to_repository = "a link called .git";
inline constexpr const char* only_plain =
    "only files and directories: the host writes here and would follow a link";
inline constexpr const char* outside_name = "a file outside, given for reading";

// What all supervisor threads share.
struct surroundings {
  surroundings(int proc_fd, int root_fd, const std::vector<rule>& protected_names,
               const std::vector<std::string>& trees, refusal_sink to)
      : proc(proc_fd), root(root_fd), names(root_fd, protected_names), programs(protected_names),
        sink(to), git_files(proc_fd, trees), configs(proc_fd, git_files, to) {}

  int listener = -1;     // set once, before the first call is served
  bool one_root = false; // no caller can have another root than `root`
  const int proc;        // the supervisor's own /proc
  const int root;        // the sandbox's root
  const rules names;
  const tree_programs programs;
  const refusal_sink sink;
  git_file_places git_files;
  staged_files configs;
  // Shared by every deed; exclusive while a directory becomes a Git directory.
  pthread_rwlock_t deeds = PTHREAD_RWLOCK_INITIALIZER;
  lost_answers* lost = nullptr;   // where signals can take calls away
  std::uint64_t mask_changes = 0; // atomic: number of umask calls so far
};

struct umask_cache;
// One per supervisor thread: what it remembers of callers' masks.
struct thread_state {
  umask_cache* masks = nullptr;
  mode_t own_mask = 0;
  unique_fd unheard_fd; // what the caller was to get, where it may ask again (lost_answers)
};
void prepare_thread(thread_state& t); // own umask and working directory, which are anywhere

// A reference to something that carries out what was judged and returns a descriptor, 0 or
// -errno.
class action {
public:
  template <class F>
  action(F& f) // NOLINT: implicit on purpose
      : object_(&f), call_([](void* object, verdict v) {
          return static_cast<int>((*static_cast<F*>(object))(v));
        }) {}
  int operator()(verdict v) const { return call_(object_, v); }

private:
  void* object_;
  int (*call_)(void*, verdict);
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
  int may_become_git_dir(int directory, std::string& refused) const;
  int rename_to_dot_git(const place& source, const place& target, action act, action undo);

  int open_present(place& at, int flags);
  int open_absent(place& at, int flags, mode_t mode);
  int open_magic(place& at, int flags);
  int open_waiting(place& at, int flags, bool close_on_exec);
  int open_terminal(int flags);
  int hand_over(int fd, bool close_on_exec);
  int hand_over_copy(int fd, bool close_on_exec);    // of staged_files
  int hand_over_or_fail(int fd, bool close_on_exec); // -errno, or -1 with errno, or a descriptor

  // The name and directory of an open file. 0, -errno, or 1 when it has none.
  int find_name_of(int fd, place& out);
  // 0: may be written. For a file behind a magic link.
  int may_write(int fd);
  // The same for what a magic link leads to, which may be outside of the sandbox.
  int may_write_magic(const place& at, int fd);
  // As path_of, at a third of the cost: by way of this thread's working directory.
  std::string path_of_directory(int fd) const;
  std::string path_above(int directory) const; // after path_of_directory had none, by its errno
  // Fills at.path. Also guarded: below a protected path. Such a name can be there without a mount
  // of its own, when the host has made it since the command began.
  hit check(place& at);
  verdict judge(const place& at, deed what, const char*& why) const {
    if (const char* broken = s_.programs.broken_by(at.parent, at.path, at.name, what)) {
      why = broken;
      return verdict::refuse;
    }
    return guard::judge(at.parent, at.path, at.name, what, why);
  }
  // After a deed that was judged `before`: with the path that the directory has now.
  bool is_refused_now(place& at, deed what, verdict before, const char*& why);
  // Of what has that name now.
  static bool is_there(const place& at);
  static bool is_link(const place& at);
  static bool is_read_only(const place& at);
  std::string directory_path(const place& at) const;
  // In a directory where the host follows what is there (rule_kind::plain), or a Git directory: may
  // only files and directories come into being, and such links as this one if it is given?
  bool is_plain(const place& at, const char* link_target = nullptr) const;
  // By such a rule; Git directories have other rules for files that come from elsewhere.
  bool is_plain_by_rule(const place& at) const;
  // Something else than a file or a directory has come to such a place after all.
  bool is_out_of_place(const place& at) const;
  // 0, or takes back what was made where only files and directories may be: -EACCES.
  int stay_in_place(const place& made);
  int find_second(const place& first, int directory, std::uint64_t path, place& out);
  int refuse(const place& at, const char* rule);
  int use_callers_mask();

  surroundings& s_;
  thread_state& t_;
  caller& c_;
};

} // namespace piorch::sandbox::guard
