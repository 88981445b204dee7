// What `piorch exec` leaves when its command has ended: the report, and lines that say why.
#pragma once

#include "config/settings.hpp"
#include "ipc/unique_fd.hpp"
#include "sandbox/report.hpp"

#include <set>
#include <string>
#include <string_view>

namespace piorch::broker {

// Writes `text` in place of what the file holds. Why not; "" when all of it is there.
std::string replace_content(ipc::unique_fd file, std::string_view text);

// What limits.memoryMiB had to do with the end of the command; "" for nothing that is known.
std::string memory_note(const sandbox::exec_report& report, const config::settings& settings,
                        const std::string& trusted_file);

// Git has no word for why its settings were refused: one line for each.
std::set<std::string> refused_settings(const sandbox::exec_report& report);

} // namespace piorch::broker
