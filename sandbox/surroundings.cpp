#include "sandbox/surroundings.hpp"

#include "sandbox/files.hpp"

#include <climits>
#include <cstdlib>
#include <unistd.h>

namespace piorch::sandbox {

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
  out.policy.libexec_dir = *libexec;
  out.policy.program = canonical("/proc/self/exe").value_or("");
  for (const std::string& home : {out.paths.home, inputs.passwd_home})
    if (const auto real = canonical(home); real && !home.empty())
      if (out.policy.homes.empty() || out.policy.homes.front() != *real)
        out.policy.homes.push_back(*real);
  out.policy.temp_dir = canonical(out.paths.temp_dir).value_or(out.paths.temp_dir);
  out.policy.agent_dir = canonical(out.paths.agent_dir).value_or(out.paths.agent_dir);
  for (const std::string& file : {out.paths.settings_file, out.paths.legacy_settings}) {
    // Its directory in the spelling that the policy compares with.
    const std::string dir = parent_of(file);
    out.policy.trusted_files.push_back(join(canonical(dir).value_or(dir), relative_to(file, dir)));
  }
  if (const char* path = std::getenv("PATH"))
    out.policy.search_path = path;
  char here[PATH_MAX];
  if (!::getcwd(here, sizeof here))
    return error{failure::usage, "the current directory no longer exists; change to another one"};
  out.current_directory = here;
  return out;
}

std::string absolute(const std::string& written, const std::string& base) {
  return !written.empty() && written.front() == '/' ? written : join(base, written);
}

} // namespace piorch::sandbox
