#include "tools/piorch/orchestrator.hpp"

#include "config/paths.hpp"
#include "config/version.hpp"
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
constexpr auto connect_limit = 2s;

ipc::initialize_params who() {
  ipc::initialize_params p;
  p.client_name = "piorch";
  p.client_version = version;
  return p;
}

struct place {
  config::paths paths;
  ipc::instance_directory directory;
};

result<place> find_place() {
  auto paths = config::resolve_paths(config::read_path_inputs());
  if (!paths)
    return std::move(paths).failed();
  auto directory = ipc::instance_directory::open(paths->runtime_dir);
  if (!directory)
    return std::move(directory).failed();
  return place{std::move(*paths), std::move(*directory)};
}

result<ipc::connected> reach(const place& at) {
  auto libexec = config::own_libexec_dir();
  if (!libexec)
    return std::move(libexec).failed();
  ipc::start_options options;
  options.program = *libexec + "/piorch-serve";
  options.environment = ipc::service_environment();
  auto reached = ipc::connect_or_start(at.directory, options, who());
  // Whatever it was, to the user it is one thing: there is no orchestrator.
  if (!reached && reached.failed().code == failure::fault)
    return error{failure::unreachable, reached.failed().text};
  return reached;
}

} // namespace

result<ipc::connected> reach_orchestrator() {
  const auto at = find_place();
  return at ? reach(*at) : result<ipc::connected>(at.failed());
}

result<std::vector<ipc::connected>> reach_all_orchestrators() {
  const auto at = find_place();
  if (!at)
    return at.failed();
  auto all = ipc::connect_to_all(at->directory, who(), connect_limit);
  if (!all.empty())
    return all;
  auto started = reach(*at);
  if (!started)
    return std::move(started).failed();
  all.push_back(std::move(*started));
  return all;
}

result<found_session> find_session(const std::string& reference) {
  auto all = reach_all_orchestrators();
  if (!all)
    return std::move(all).failed();
  error last{failure::unknown_session, "no session " + reference};
  for (auto& one : *all) {
    ipc::session_status_params p;
    p.session_id = reference;
    auto answer = one.peer.call(p, answer_limit);
    if (answer && answer->contains("sessions") && (*answer)["sessions"].size() == 1)
      return found_session{std::move(one), std::move((*answer)["sessions"][0])};
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
