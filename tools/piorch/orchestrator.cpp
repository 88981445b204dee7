#include "tools/piorch/orchestrator.hpp"

#include "config/paths.hpp"
#include "orchestration/json_text.hpp"
#include "tools/piorch/exit_status.hpp"
#include "tools/piorch/output.hpp"

#include <cmath>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <unistd.h>

namespace piorch::cli {

namespace {

using namespace std::chrono_literals;
constexpr auto answer_limit = 10s;

result<ipc::connected> reach(const ipc::instance_directory& at, answers approvals) {
  auto libexec = config::own_libexec_dir();
  if (!libexec)
    return std::move(libexec).failed();
  ipc::start_options options;
  options.program = *libexec + "/piorch-serve";
  options.environment = ipc::service_environment();
  auto reached = ipc::connect_or_start(at, options, introduce(approvals));
  // Whatever it was, to the user it is one thing: there is no orchestrator.
  if (!reached && reached.failed().code == failure::fault)
    return error{failure::unreachable, reached.failed().text};
  return reached;
}

} // namespace

result<ipc::connected> reach_orchestrator(answers approvals) {
  const auto at = open_instance_directory();
  return at ? reach(*at, approvals) : result<ipc::connected>(at.failed());
}

result<std::vector<ipc::connected>> reach_all_orchestrators(answers approvals) {
  const auto at = open_instance_directory();
  if (!at)
    return at.failed();
  auto all = live_instances(*at, approvals);
  if (!all.empty())
    return all;
  auto started = reach(*at, approvals);
  if (!started)
    return std::move(started).failed();
  all.push_back(std::move(*started));
  return all;
}

result<found_session> find_session(const std::string& reference, answers approvals) {
  auto all = reach_all_orchestrators(approvals);
  if (!all)
    return std::move(all).failed();
  error last{failure::unknown_session, "no session " + reference};
  for (auto& one : *all) {
    ipc::session_status_params p;
    p.session_id = reference;
    auto answer = one.peer.call(p, answer_limit);
    if (answer && answer->contains("sessions") && (*answer)["sessions"].size() == 1)
      return found_session{std::move(one), std::move((*answer)["sessions"][0]),
                           orchestration::count_at(*answer, "revision")};
    if (!answer)
      last = answer.failed();
  }
  return last;
}

ipc::environment whole_environment() {
  ipc::environment out;
  for (char** v = environ; *v != nullptr; ++v) {
    const std::string_view entry = *v;
    const auto equals = entry.find('=');
    if (equals != std::string_view::npos && equals > 0)
      out.emplace(entry.substr(0, equals), entry.substr(equals + 1));
  }
  return out;
}

result<std::chrono::milliseconds> seconds_from(std::string_view option, const std::string& text) {
  char* end = nullptr;
  const double seconds = std::strtod(text.c_str(), &end);
  if (text.empty() || *end != '\0' || !std::isfinite(seconds) || seconds <= 0 || seconds > 1e7)
    return error{failure::usage, "--" + std::string(option) +
                                     ": a number of seconds above 0 is expected, not \"" + text +
                                     "\""};
  return std::chrono::milliseconds(static_cast<std::int64_t>(std::ceil(seconds * 1000)));
}

int failed(std::string_view command, const error& why) {
  complain(command, why.text);
  return status_of(why.code);
}

} // namespace piorch::cli
