// Where a path of the caller leads: the directory that holds its last name, pinned by
// a descriptor, and that name. The kernel does it in one openat2 where the
// result cannot differ; a walk by components does the rest.
//
// Contract: sees the tree as the caller does (its root, working directory,
// descriptors, /proc/self), follows links as the call would, and leaves
// the last name to the operation, which acts on (parent, name) without following
// anything. So what is checked is what is acted on, however the tree is changed meanwhile.
//
// Attack closed here: /proc is walked by us, for a magic link or a file of another
// process opened by PID 1 would be opened with PID 1's rights (its own memory
// included). Only the caller's own entries are opened with the right to
// trace; other processes' without it; those of PID 1 never.
#pragma once

#include "sandbox/guard/caller.hpp"

#include <string>

namespace piorch::sandbox::guard {

struct place {
  unique_fd owned;
  int parent = -1;      // `owned`, or a descriptor of the caller object
  std::string name;     // last component; "." when the path names its parent itself
  std::string path;     // parent's, when it was asked for (operations::check); may be old
  bool slash = false;   // a slash followed the name
  bool magic = false;   // name is a magic link of procfs and has to be followed
  bool foreign = false; // in procfs, in the entry of another process
  bool in_proc = false; // parent is in procfs
  bool looked = false;  // `exists` and `state` are known
  bool exists = false;
  struct stat state {};

  bool itself() const { return name == "." || name == ".."; }
  std::string spelled() const { return slash ? name + "/" : name; }
};

// A slash behind the last name makes no difference here: for calls that look up an existing
// file it means follow, for calls that make a name it does not.
enum class last_link { keep, follow };

// 0 or -errno. `look` also fills exists/state (as seen a moment ago).
int find_place(caller& c, int directory, const char* path, last_link last, bool look, place& out);

// Path of an open descriptor, for reports and for names behind magic links. Empty on failure.
std::string path_of(int proc, int fd);

// Same directory on the same mount.
bool same_place(int a, int b);
bool same_mount(int a, int b);

// Takes this thread's right to look into other processes away while it lives.
class without_tracing {
public:
  explicit without_tracing(bool really);
  ~without_tracing();
  without_tracing(const without_tracing&) = delete;
  without_tracing& operator=(const without_tracing&) = delete;

private:
  bool changed_ = false;
};

} // namespace piorch::sandbox::guard
