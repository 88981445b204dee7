// The system call filter of every sandboxed command (contract, section 7).
#pragma once

#include "config/result.hpp"

#include <linux/filter.h>
#include <vector>

namespace piorch::sandbox {

// The program as the kernel takes it. Built with libseccomp for the machine's
// own ABI; every other ABI (32-bit, x32) ends the process.
result<std::vector<sock_filter>> make_filter();

} // namespace piorch::sandbox
