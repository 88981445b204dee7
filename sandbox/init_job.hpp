// Builds the job that piorch-init carries out (sandbox/init_protocol.hpp) in a
// sealed memfd. Any thread.
#pragma once

#include "config/result.hpp"
#include "ipc/unique_fd.hpp"
#include "sandbox/init_protocol.hpp"
#include "sandbox/plan.hpp"

#include <linux/filter.h>
#include <string>
#include <string_view>
#include <vector>

namespace piorch::sandbox {

class init_job {
public:
  void add_text(init::tag what, std::string_view text); // the NUL is added
  void add_number(init::tag what, std::uint64_t value);
  void add_filter(const std::vector<sock_filter>& program);
  void add_listener(std::uint16_t port, bool v6);
  // Trees are pinned: piorch-init refuses another directory under that name.
  result<done> add_mounts(const std::vector<std::string>& trees,
                          const std::vector<inner_mount>& inner);
  void add(init::tag what, const void* head, std::size_t head_bytes, std::string_view text);

  result<ipc::unique_fd> seal() const;

  // Seals it and puts it into the channel, where piorch-init finds it when it is up.
  result<done> send(int channel) const;

private:
  std::string bytes_;
};

} // namespace piorch::sandbox
