// Network namespaces that a test makes for itself, wired with veth pairs. Works
// for root and, through a user namespace of its own, for an ordinary user. A
// socket belongs to the namespace in which it was made, so one process can play
// sandbox, host and outside world at once.
#pragma once

#include "ipc/unique_fd.hpp"

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <sched.h>
#include <stdexcept>
#include <string>
#include <sys/mount.h>
#include <sys/wait.h>
#include <unistd.h>

namespace piorch::test {

class netns {
public:
  // Before the first one an ordinary user needs become_root(); single-threaded.
  netns() {
    ipc::unique_fd before(open_current());
    if (::unshare(CLONE_NEWNET) != 0)
      throw std::runtime_error("unshare(CLONE_NEWNET)");
    fd_.reset(open_current());
    run("ip link set lo up");
    enter(before.get());
  }

  // Root of a user namespace of our own, if we are not root already. False if
  // this machine does not let us.
  static bool become_root() {
    const auto uid = ::geteuid(), gid = ::getegid();
    if (uid == 0)
      return true;
    // With a network namespace at once: back into the old one there is no way.
    if (::unshare(CLONE_NEWUSER | CLONE_NEWNET) != 0)
      return false;
    return write_file("/proc/self/setgroups", "deny") &&
           write_file("/proc/self/uid_map", "0 " + std::to_string(uid) + " 1") &&
           write_file("/proc/self/gid_map", "0 " + std::to_string(gid) + " 1");
  }

  // Runs fn with the calling thread in this namespace.
  template <class Fn> auto in(Fn fn) const {
    struct back {
      ipc::unique_fd to{open_current()};
      ~back() { enter(to.get()); }
    } guard;
    enter(fd_.get());
    return fn();
  }
  void enter() const { enter(fd_.get()); }

  // "addr add 192.0.2.1/24 dev a nodad"
  void ip(const std::string& arguments) const {
    in([&] { run("ip " + arguments); });
  }

  // A cable: interface `mine` here, `its` there, both up.
  void connect(const std::string& mine, const netns& other, const std::string& its) const {
    ip("link add " + mine + " type veth peer name " + its);
    ip("link set " + its + " netns /proc/" + std::to_string(::getpid()) + "/fd/" +
       std::to_string(other.fd_.get()));
    ip("link set " + mine + " up");
    other.ip("link set " + its + " up");
  }

private:
  static int open_current() {
    const int fd = ::open("/proc/thread-self/ns/net", O_RDONLY | O_CLOEXEC);
    if (fd < 0)
      throw std::runtime_error("/proc/thread-self/ns/net");
    return fd;
  }
  static void enter(int fd) {
    if (::setns(fd, CLONE_NEWNET) != 0)
      std::abort(); // a test that goes on in the wrong network proves nothing
  }
  static void run(const std::string& command) {
    if (std::system(command.c_str()) != 0)
      throw std::runtime_error(command);
  }
  static bool write_file(const char* path, const std::string& text) {
    ipc::unique_fd fd(::open(path, O_WRONLY | O_CLOEXEC));
    return fd && ::write(fd.get(), text.data(), text.size()) == static_cast<ssize_t>(text.size());
  }

  ipc::unique_fd fd_;
};

} // namespace piorch::test
