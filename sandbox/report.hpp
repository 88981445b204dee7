// The report of `piorch exec --report` (contract, section 3). Pure.
#pragma once

#include "sandbox/run.hpp"

#include <chrono>
#include <string>
#include <vector>

namespace piorch::sandbox {

struct network_entry {
  std::string host;
  std::uint16_t port = 0;
  std::string decision; // allow, deny
  std::string source;   // deniedDomains, allowedDomains, approval, policy …
};

struct refused_entry {
  std::string path;
  std::string rule;
};

struct exec_report {
  outcome how;
  std::chrono::microseconds setup{0};
  std::chrono::microseconds duration{0};
  std::vector<network_entry> network;
  std::vector<refused_entry> refused_paths;
  bool out_of_memory = false; // the kernel ended a process at limits.memoryMiB
  bool ran_on_host = false;   // at last, once somebody had approved it
};

std::string report_json(const exec_report& r);
// One entry, as in the report's list.
std::string entry_text(const network_entry& e);

} // namespace piorch::sandbox
