#include "tools/piorch/instances.hpp"

#include "config/paths.hpp"
#include "config/version.hpp"
#include "sandbox/inside.hpp"

namespace piorch::cli {

result<ipc::instance_directory> open_instance_directory() {
  if (sandbox::is_inside())
    return error{failure::unreachable, "from inside a sandbox no orchestrator can be reached"};
  auto paths = config::resolve_paths(config::read_path_inputs());
  auto opened = paths ? ipc::instance_directory::open(paths->runtime_dir)
                      : result<ipc::instance_directory>(paths.failed());
  // Whatever it was, to the user it is one thing: there is no orchestrator.
  if (!opened && opened.failed().code == failure::fault)
    return error{failure::unreachable, opened.failed().text};
  return opened;
}

ipc::initialize_params introduce(answers approvals) {
  ipc::initialize_params p;
  p.client_name = "piorch";
  p.client_version = version;
  p.approvals = approvals == answers::yes;
  return p;
}

std::vector<ipc::connected> live_instances(const ipc::instance_directory& directory,
                                           answers approvals) {
  constexpr std::chrono::seconds time_to_connect{2};
  return ipc::connect_to_all(directory, introduce(approvals), time_to_connect);
}

} // namespace piorch::cli
