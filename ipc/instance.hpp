// The directory in which orchestrators of one user find each other: mode 0700,
// ours, no link. Each instance holds NAME.lock (flock, its pid inside) for as
// long as it serves and listens on NAME.sock; "default" is the one that commands
// start on demand, the others are "serve-PID". A socket whose lock is free is
// left over from a killed process and is swept.
//
// All names are looked up below one pinned descriptor of the directory. No
// thread affinity; nothing here waits but take_lock, which is bounded.
#pragma once

#include "config/result.hpp"
#include "ipc/unique_fd.hpp"

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace piorch::ipc {

inline constexpr const char* default_instance = "default";

class instance_directory {
public:
  // Makes the last component if it is missing and checks what is there.
  static result<instance_directory> open(const std::string& path);
  static result<instance_directory> open_present(const std::string& path); // makes nothing

  int fd() const noexcept { return fd_.get(); }
  const std::string& path() const noexcept { return path_; }
  // A path of any length's NAME.sock that fits in a socket address.
  std::string socket_path(const std::string& name) const;
  // Names with a socket, sorted, "default" first. Live or not.
  std::vector<std::string> names() const;
  // Removes the sockets and locks of instances that are gone.
  void sweep() const;

private:
  instance_directory(unique_fd fd, std::string path) : fd_(std::move(fd)), path_(std::move(path)) {}
  unique_fd fd_;
  std::string path_;
};

// An flock()ed file, removed when the holder lets go. Survives nothing: the kernel
// frees it with the process.
class lock_file {
public:
  // Nothing: somebody else held it until `limit` had passed. 0: do not wait.
  static result<std::optional<lock_file>>
  take(const instance_directory& dir, const std::string& name, std::chrono::milliseconds limit);
  lock_file(lock_file&&) noexcept = default;
  lock_file& operator=(lock_file&& other) noexcept;
  ~lock_file();

  void write_pid(std::int64_t pid) const;

private:
  lock_file(int dir_fd, unique_fd fd, std::string file)
      : dir_fd_(dir_fd), fd_(std::move(fd)), file_(std::move(file)) {}
  void let_go() noexcept;

  int dir_fd_; // of the directory, which outlives its locks
  unique_fd fd_;
  std::string file_;
};

// Where the workers of pi-subagents find their supervisor, below the instances' directory.
std::string workers_directory(const std::string& instances);

// Removes what killed orchestrators have left in both directories. Makes nothing, never fails.
void sweep_instances(const std::string& instances) noexcept;

// Whether the process at the other end of a connected socket runs as our user.
result<done> check_peer(int socket);

} // namespace piorch::ipc
