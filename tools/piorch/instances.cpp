#include "tools/piorch/instances.hpp"

#include "config/paths.hpp"
#include "config/version.hpp"

namespace piorch::cli {

result<ipc::instance_directory> open_instance_directory() {
  auto paths = config::resolve_paths(config::read_path_inputs());
  if (!paths)
    return std::move(paths).failed();
  return ipc::instance_directory::open(paths->runtime_dir);
}

std::vector<ipc::connected> live_instances(const ipc::instance_directory& directory) {
  constexpr std::chrono::seconds time_to_connect{2};
  ipc::initialize_params us;
  us.client_name = "piorch";
  us.client_version = version;
  return ipc::connect_to_all(directory, us, time_to_connect);
}

} // namespace piorch::cli
