// The private temporary directory of one sandbox. Its owner holds a lock on it
// as long as it is needed, so what a killed process left behind is found by
// whoever starts next. Those of one user lie in one directory, which the policy
// hides from every sandbox: all have the same uid, so permissions would not. It is there
// as long as one of them is. Any thread.
#pragma once

#include "config/result.hpp"
#include "ipc/unique_fd.hpp"

#include <string>

namespace piorch::sandbox {

// The directory below `temp_dir` that this user's private directories lie in.
std::string scratch_parent(const std::string& temp_dir);
std::string system_temp(); // /tmp, canonical

class scratch {
public:
  scratch() = default;
  scratch(scratch&&) = default;
  scratch& operator=(scratch&&) = default;
  ~scratch() { remove(); }

  // Makes pi-sandbox-tmp-piorch-XXXXXX (0700) in the parent below `temp_dir`, which is made
  // where it is missing. A link or somebody else's directory in its place is refused.
  static result<scratch> make(const std::string& temp_dir);
  // Takes one over from the process image before (exec): path and descriptor.
  static scratch adopt(std::string path, ipc::unique_fd directory);

  const std::string& path() const { return path_; }
  int directory() const { return directory_.get(); }
  // Gives up ownership without removing.
  std::pair<std::string, ipc::unique_fd> release();
  // Removes everything in it, whatever permissions the command left.
  void remove() noexcept;

private:
  std::string path_;
  ipc::unique_fd directory_;
};

// Removes the private directories below `temp_dir` and /tmp that nobody holds any more, also
// those that versions before left in these directories themselves.
void sweep_scratch(const std::string& temp_dir) noexcept;

// Removes a tree below `parent` without following links or leaving the file
// system; makes directories accessible on the way. True when it is gone.
bool remove_tree(int parent, const char* name) noexcept;

} // namespace piorch::sandbox
