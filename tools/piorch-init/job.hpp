// The broker's job, read from the memfd it sent and checked record by record.
// Views point into the mapping, which stays for the life of the process.
#pragma once

#include "sandbox/init_protocol.hpp"

#include <cstddef>
#include <cstdint>
#include <linux/filter.h>
#include <vector>

namespace piorch::init {

namespace wire = sandbox::init;

struct root {
  wire::root_record what;
  const char* path;
};

struct mount {
  wire::mount_record what;
  const char* path;
};

struct raw_record { // for the guard: parsed by it
  wire::tag what;
  const unsigned char* data;
  std::size_t bytes;
};

struct job {
  std::vector<char*> arguments;   // with the closing null pointer
  std::vector<char*> environment; // likewise
  const char* directory = "/";
  std::vector<root> roots;
  std::vector<mount> mounts;
  std::vector<wire::listener_record> listeners;
  sock_fprog filter{0, nullptr};
  std::uint64_t limit_processes = 0; // 0: none
  std::uint64_t limit_data = 0;
  std::uint64_t signal_mask = 0;
  std::uint64_t ignored_signals = 0;
  int terminal = -1;
  std::vector<raw_record> guard;
  void* bytes = nullptr; // the mapping that all of these point into, for good
  std::size_t size = 0;
};

// Maps `fd` (not closed) and fills `out`. False when the bytes are not a job.
bool read_job(int fd, job& out);

} // namespace piorch::init
