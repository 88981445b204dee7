#include "sandbox/spawn.hpp"

#include "ipc/unique_fd.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <spawn.h>

namespace piorch::sandbox {

namespace {

std::vector<char*> pointers(const std::vector<std::string>& words) {
  std::vector<char*> out;
  for (const std::string& word : words)
    out.push_back(const_cast<char*>(word.c_str()));
  out.push_back(nullptr);
  return out;
}

class actions {
public:
  actions() { ::posix_spawn_file_actions_init(&value_); }
  ~actions() { ::posix_spawn_file_actions_destroy(&value_); }
  posix_spawn_file_actions_t* get() { return &value_; }

private:
  posix_spawn_file_actions_t value_;
};

class attributes {
public:
  attributes() { ::posix_spawnattr_init(&value_); }
  ~attributes() { ::posix_spawnattr_destroy(&value_); }
  posix_spawnattr_t* get() { return &value_; }

private:
  posix_spawnattr_t value_;
};

} // namespace

result<pid_t> spawn(const spawn_request& request) {
  actions files;
  attributes how;
  // Sources move above all targets first, so that no dup2 overwrites a source.
  std::vector<ipc::unique_fd> copies;
  const int above = 64 + static_cast<int>(request.fds.size());
  for (std::size_t i = 0; i < request.fds.size(); ++i) {
    const int target = static_cast<int>(i);
    if (request.fds[i] < 0) {
      ::posix_spawn_file_actions_addopen(files.get(), target, "/dev/null", O_RDWR, 0);
      continue;
    }
    copies.emplace_back(::fcntl(request.fds[i], F_DUPFD_CLOEXEC, above));
    if (!copies.back())
      return error{failure::fault,
                   std::string("cannot pass a descriptor on: ") + std::strerror(errno)};
    ::posix_spawn_file_actions_adddup2(files.get(), copies.back().get(), target);
  }
  ::posix_spawn_file_actions_addclosefrom_np(files.get(), static_cast<int>(request.fds.size()));

  sigset_t defaults;
  sigfillset(&defaults); // bubblewrap misbehaves when SIGCHLD is ignored (fixed in 0.11.1)
  ::posix_spawnattr_setsigdefault(how.get(), &defaults);
  ::posix_spawnattr_setsigmask(how.get(), &request.blocked);
  ::posix_spawnattr_setflags(how.get(),
                             static_cast<short>(POSIX_SPAWN_SETSIGDEF | POSIX_SPAWN_SETSIGMASK |
                                                (request.new_session ? POSIX_SPAWN_SETSID : 0)));
  pid_t pid = -1;
  const int rc =
      ::posix_spawn(&pid, request.program.c_str(), files.get(), how.get(),
                    pointers(request.arguments).data(), pointers(request.environment).data());
  if (rc != 0)
    return error{failure::fault, "cannot start " + request.program + ": " + std::strerror(rc)};
  return pid;
}

} // namespace piorch::sandbox
