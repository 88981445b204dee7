#include "tools/piorch-broker/last_words.hpp"

#include "config/text.hpp"

#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace piorch::broker {

namespace {

// Below, also programs fail that do nothing much, and many of them without a word.
constexpr std::uint64_t hardly_any_mib = 16;

} // namespace

std::string replace_content(ipc::unique_fd file, std::string_view text) {
  int problem = ::ftruncate(file.get(), 0) == 0 ? 0 : errno;
  while (problem == 0 && !text.empty()) {
    const ssize_t n = ::write(file.get(), text.data(), text.size());
    if (n > 0)
      text.remove_prefix(static_cast<std::size_t>(n));
    else if (n == 0 || errno != EINTR)
      problem = n == 0 ? EIO : errno;
  }
  if (problem != 0)
    (void)!::ftruncate(file.get(), 0); // half a report is none
  if (::close(file.release()) != 0 && problem == 0)
    problem = errno; // some file systems say only now that they are full
  return problem == 0 ? std::string() : std::strerror(problem);
}

std::string memory_note(const sandbox::exec_report& report, const config::settings& settings,
                        const std::string& trusted_file) {
  const auto limit = std::to_string(settings.limits.memory_mib) + " MiB of memory";
  const auto where = " (limits.memoryMiB in " + config::printable(trusted_file) + ")";
  if (report.out_of_memory)
    return "a process was ended because the sandbox was at its limit of " + limit + where;
  const auto& how = report.how;
  const bool failed = how.started && how.exit_code != 0 && !how.timed_out && !report.ran_on_host;
  if (failed && settings.limits.memory_mib < hardly_any_mib)
    return "it had no more than " + limit + ", which is too little for many programs" + where;
  return {};
}

std::set<std::string> refused_settings(const sandbox::exec_report& report) {
  std::set<std::string> out;
  for (const auto& [path, rule] : report.refused_paths)
    if (rule.rfind("git config:", 0) == 0)
      out.insert(config::printable(path) + ": refused: " + config::printable(rule));
  return out;
}

} // namespace piorch::broker
