// `piorch`: finds the sub-command and runs it.
#include "config/paths.hpp"
#include "ipc/instance.hpp"
#include "tools/piorch/commands.hpp"
#include "tools/piorch/exit_status.hpp"
#include "tools/piorch/output.hpp"

#include <unistd.h>

int main(int argc, char** argv) {
  using namespace piorch::cli;
  if (argc < 2)
    return usage_error("", "no command given");
  std::string_view name = argv[1];
  if (name == "--help" || name == "-h")
    name = "help";
  else if (name == "--version" || name == "-V")
    name = "version";
  const command* found = find_command(name);
  if (!found && name.substr(0, 1) == "-")
    return usage_error("", "unknown option " + std::string(name) + ": a command comes first");
  if (!found)
    return usage_error("", unknown_command_text(name));
  const arguments args(argv + 2, argv + argc);
  if (wants_help(found->help->options, args))
    return print(help_text(*found->help, colour_wanted(STDOUT_FILENO)));
  // Contract, section 2: what killed processes have left goes with the next start of any.
  if (const auto paths = piorch::config::resolve_paths(piorch::config::read_path_inputs()))
    piorch::ipc::sweep_instances(paths->runtime_dir);
  return found->run(args);
}
