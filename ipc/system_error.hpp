// A failed system call as a sentence: what was tried, on what, and why not.
#pragma once

#include "config/result.hpp"

#include <cerrno>
#include <string>
#include <system_error>

namespace piorch::ipc {

inline error fault(const std::string& what, int error_number = errno) {
  return {failure::fault, what + ": " + std::generic_category().message(error_number)};
}

} // namespace piorch::ipc
