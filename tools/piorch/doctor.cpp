// `piorch doctor`: every prerequisite, tried for real, and how to fix it.
#include "sandbox/examine.hpp"
#include "sandbox/files.hpp"
#include "tools/piorch/commands.hpp"
#include "tools/piorch/exit_status.hpp"
#include "tools/piorch/output.hpp"

#include <algorithm>
#include <cstdlib>
#include <unistd.h>

namespace piorch::cli {

namespace {

// Not look_around(): a configuration that is not understood is a finding here.
sandbox::policy_inputs inputs_of(const config::paths& paths, const config::path_inputs& read,
                                 const std::string& libexec_dir) {
  sandbox::policy_inputs out;
  for (const std::string& home : {paths.home, read.passwd_home})
    if (const auto real = sandbox::canonical(home); real && !home.empty())
      if (out.homes.empty() || out.homes.front() != *real)
        out.homes.push_back(*real);
  out.temp_dir = sandbox::canonical(paths.temp_dir).value_or(paths.temp_dir);
  out.agent_dir = paths.agent_dir;
  out.trusted_files = {paths.settings_file, paths.legacy_settings};
  out.libexec_dir = libexec_dir;
  out.program = sandbox::canonical("/proc/self/exe").value_or("");
  if (const char* path = std::getenv("PATH"))
    out.search_path = path;
  return out;
}

} // namespace

int doctor_command(const arguments& args) {
  const auto given = parse_options(doctor_help.options, args);
  if (!given)
    return usage_error("doctor", given.failed().text);
  if (!given->words.empty() || !given->rest.empty())
    return usage_error("doctor", "takes no argument");
  const auto read = config::read_path_inputs();
  const auto paths = config::resolve_paths(read);
  const auto libexec = config::own_libexec_dir();
  for (const error* why :
       {paths ? nullptr : &paths.failed(), libexec ? nullptr : &libexec.failed()})
    if (why) {
      complain("doctor", why->text);
      return exit_failed;
    }
  const auto all = sandbox::diagnose(sandbox::examine(*paths, config::load_settings(*paths),
                                                      inputs_of(*paths, read, *libexec),
                                                      sandbox::canonical(".").value_or("/")));
  const int printed =
      print(given->has("json") ? sandbox::findings_json(all)
                               : sandbox::findings_text(all, colour_wanted(STDOUT_FILENO)));
  const bool failed = std::any_of(all.begin(), all.end(), [](const sandbox::finding& f) {
    return f.what == sandbox::verdict::failed;
  });
  return failed ? exit_failed : printed;
}

} // namespace piorch::cli
