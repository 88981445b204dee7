#include "sandbox/surroundings.hpp"

#include "sandbox/files.hpp"

#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <unistd.h>

namespace piorch::sandbox {

policy_inputs inputs_of(const config::paths& paths, const config::path_inputs& read,
                        const std::string& libexec_dir) {
  policy_inputs out;
  out.libexec_dir = libexec_dir;
  out.program = canonical("/proc/self/exe").value_or("");
  for (const std::string& home : {paths.home, read.passwd_home})
    if (const auto real = canonical(home); real && !home.empty())
      if (out.homes.empty() || out.homes.front() != *real)
        out.homes.push_back(*real);
  out.temp_dir = canonical(paths.temp_dir).value_or(paths.temp_dir);
  out.agent_dir = canonical(paths.agent_dir).value_or(paths.agent_dir);
  out.state_dir = canonical(paths.state_dir).value_or(paths.state_dir);
  for (const std::string& file : {paths.settings_file, paths.legacy_settings}) {
    // Its directory in the spelling that the policy compares with.
    const std::string dir = parent_of(file);
    out.trusted_files.push_back(join(canonical(dir).value_or(dir), relative_to(file, dir)));
  }
  if (const char* path = std::getenv("PATH"))
    out.search_path = path;
  return out;
}

result<surroundings> look_around() {
  surroundings out;
  const config::path_inputs inputs = config::read_path_inputs();
  auto paths = config::resolve_paths(inputs);
  if (!paths)
    return std::move(paths).failed();
  out.paths = std::move(*paths);
  auto settings = config::load_settings(out.paths);
  if (!settings)
    return std::move(settings).failed();
  out.settings = std::move(*settings);
  auto libexec = config::own_libexec_dir();
  if (!libexec)
    return std::move(libexec).failed();
  out.policy = inputs_of(out.paths, inputs, *libexec);
  char here[PATH_MAX];
  if (!::getcwd(here, sizeof here))
    return error{failure::usage,
                 errno == ENOENT ? "the current directory no longer exists; change to another one"
                                 : std::string("the current directory cannot be told: ") +
                                       std::strerror(errno) + "; change to another one"};
  out.current_directory = here;
  return out;
}

std::string absolute(const std::string& written, const std::string& base) {
  return !written.empty() && written.front() == '/' ? written : join(base, written);
}

} // namespace piorch::sandbox
