// Opens the file of --report for writing, on the host and as the caller. A
// program of an earlier sandbox may have planted links in the workspace: none is
// followed that leads out of the directory the user wrote.
#pragma once

#include "config/result.hpp"
#include "ipc/unique_fd.hpp"

#include <string>

namespace piorch::cli {

// Not truncated: the old report stays until there is a new one.
result<ipc::unique_fd> open_report(const std::string& written,
                                   const std::string& current_directory);

} // namespace piorch::cli
