// `piorch doctor`: every prerequisite, tried for real, and how to fix it.
#include "sandbox/examine.hpp"
#include "sandbox/files.hpp"
#include "sandbox/surroundings.hpp"
#include "tools/piorch/commands.hpp"
#include "tools/piorch/exit_status.hpp"
#include "tools/piorch/output.hpp"

#include <algorithm>
#include <csignal>
#include <unistd.h>

namespace piorch::cli {

int doctor_command(const arguments& args) {
  const auto given = parse_options(doctor_help.options, args);
  if (!given)
    return usage_error("doctor", given.failed().text);
  if (!given->words.empty() || !given->rest.empty())
    return usage_error("doctor", "takes no argument");
  ::signal(SIGCHLD, SIG_DFL); // ignored by the caller, what is tried could not be waited for
  const auto read = config::read_path_inputs();
  const auto paths = config::resolve_paths(read);
  const auto libexec = config::own_libexec_dir();
  for (const error* why :
       {paths ? nullptr : &paths.failed(), libexec ? nullptr : &libexec.failed()})
    if (why) {
      complain("doctor", why->text);
      return exit_failed;
    }
  // Not look_around(): a configuration that is not understood is a finding here.
  const auto from = sandbox::inputs_of(*paths, read, *libexec);
  const auto all = sandbox::diagnose(sandbox::examine(*paths, config::load_settings(*paths), from,
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
