#include "tools/piorch-init/guarding.hpp"

#include "sandbox/guard/supervisor.hpp"

#include <algorithm>
#include <atomic>
#include <cerrno>
#include <cstring>
#include <ctime>
#include <linux/capability.h>
#include <linux/seccomp.h>
#include <sys/syscall.h>
#include <unistd.h>

namespace piorch::init {

namespace {

bool is_wanted(const job& j) {
  return std::any_of(j.guard.begin(), j.guard.end(),
                     [](const raw_record& r) { return r.what == wire::tag::guard_on; });
}

// Refusals reach the broker until its socket is full, and a program that does nothing else
// cannot flood it: the first hundred, then four a second.
class reporter {
public:
  explicit reporter(const link& to) : to_(to) {}

  static void tell(void* self, const char* path, const char* rule) {
    static_cast<reporter*>(self)->send(path, rule);
  }

private:
  static constexpr unsigned at_once = 100;
  static constexpr unsigned per_second = 4;

  bool may_speak() {
    if (spoken_.load() < at_once)
      return spoken_.fetch_add(1) < at_once;
    timespec now{};
    ::clock_gettime(CLOCK_MONOTONIC, &now);
    const auto slot = static_cast<std::uint64_t>(now.tv_sec) * per_second +
                      static_cast<std::uint64_t>(now.tv_nsec) / (1000000000u / per_second);
    return slot_.exchange(slot) != slot;
  }

  void send(const char* path, const char* rule) {
    if (!may_speak())
      return;
    char text[wire::max_text];
    // The rule always fits: a path is cut at its front, where it says least.
    const std::size_t rule_bytes = std::min<std::size_t>(std::strlen(rule), 200);
    const std::size_t room = sizeof text - rule_bytes - 1;
    std::size_t path_bytes = std::strlen(path);
    if (path_bytes > room) {
      path += path_bytes - room;
      path_bytes = room;
    }
    std::memcpy(text, path, path_bytes);
    text[path_bytes] = 0;
    std::memcpy(text + path_bytes + 1, rule, rule_bytes);
    wire::header h;
    h.what = wire::message::refused_path;
    h.text_bytes = static_cast<std::uint32_t>(path_bytes + 1 + rule_bytes);
    to_.offer(h, text);
  }

  const link to_;
  std::atomic<unsigned> spoken_{0};
  std::atomic<std::uint64_t> slot_{0};
};

// 0, or -EPROTO for a malformed record.
int read_rules(const job& j, std::vector<sandbox::guard::rule>& out) {
  using sandbox::guard::rule_kind;
  for (const raw_record& r : j.guard) {
    if (r.what == wire::tag::guard_on)
      continue;
    wire::guard_record head;
    if (r.what != wire::tag::guard_rule || r.bytes <= sizeof head)
      return -EPROTO;
    std::memcpy(&head, r.data, sizeof head);
    const auto* path = reinterpret_cast<const char*>(r.data) + sizeof head;
    const std::size_t bytes = r.bytes - sizeof head;
    if (path[0] != '/' || std::memchr(path, 0, bytes) != path + bytes - 1 ||
        head.base_bytes >= bytes)
      return -EPROTO;
    switch (head.kind) {
      case wire::guard_kind::absent:
        out.push_back({rule_kind::absent, path, head.base_bytes});
        break;
      case wire::guard_kind::directory:
        out.push_back({rule_kind::directory, path, head.base_bytes});
        break;
      case wire::guard_kind::kept:
        out.push_back({rule_kind::kept, path, head.base_bytes});
        break;
      case wire::guard_kind::plain:
        out.push_back({rule_kind::plain, path, head.base_bytes});
        break;
      case wire::guard_kind::in_trees:
        out.push_back({rule_kind::in_trees, path, head.base_bytes});
        break;
      case wire::guard_kind::in_linked_trees:
        out.push_back({rule_kind::in_linked_trees, path, head.base_bytes});
        break;
      default:
        return -EPROTO;
    }
  }
  return 0;
}

} // namespace

unsigned long long capabilities_for_guard(const job& j) {
  if (!is_wanted(j))
    return 0;
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  __user_cap_data_struct have[2]{};
  ::syscall(SYS_capget, &head, have);
  return have[0].permitted & (1u << CAP_SYS_PTRACE);
}

void drop_own_capabilities() {
  __user_cap_header_struct head{_LINUX_CAPABILITY_VERSION_3, 0};
  const __user_cap_data_struct none[2]{};
  if (::syscall(SYS_capset, &head, none) != 0)
    ::_exit(125);
}

guarding::guarding(const job& j, const link& to_broker)
    : job_(j), to_broker_(to_broker), wanted_(is_wanted(j)) {
  sandbox::guard::handoff h;
  if (!wanted_)
    return;
  if (!sandbox::guard::make_handoff(h))
    to_broker.fail(wire::stage::guard, errno, "make a pair of sockets");
  supervisor_end_ = h.supervisor;
  command_end_ = h.command;
}

bool guarding::enter() {
  if (!wanted_)
    return ::syscall(SYS_seccomp, SECCOMP_SET_MODE_FILTER, 0, &job_.filter) == 0;
  const int e = sandbox::guard::install_and_hand_over(command_end_, job_.filter);
  ::close(command_end_);
  errno = -e;
  return e == 0;
}

void guarding::serve() {
  if (!wanted_)
    return;
  ::close(command_end_);
  static std::vector<sandbox::guard::rule> rules;
  static reporter reports(to_broker_);
  std::vector<std::string> trees;
  for (const root& r : job_.roots)
    trees.emplace_back(r.path);
  int e = read_rules(job_, rules);
  if (e == 0)
    e = sandbox::guard::start_supervisor(supervisor_end_, rules, trees, {reporter::tell, &reports},
                                         true);
  if (e < 0 && e != -EPIPE && e != -EBUSY && e != -EINVAL)
    to_broker_.fail(wire::stage::guard, -e, "start the create guard");
  ::close(supervisor_end_);
}

} // namespace piorch::init
