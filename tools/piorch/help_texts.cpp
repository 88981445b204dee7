// Help of `policy` and `doctor`.
#include "tools/piorch/commands.hpp"

namespace piorch::cli {

namespace {

constexpr option policy_options[] = {
    {'C', "cwd", "DIR", "the workspace (default: the current directory)"},
    {0, "format", "FORMAT", "text (default), json, bwrap or seatbelt"},
    {0, "json", "", "the same as --format json"},
};

constexpr option doctor_options[] = {{0, "json", "", "one JSON object"}};

} // namespace

const command_help policy_help = {
    "policy",
    "",
    "the effective sandbox policy for a directory, with a reason for each entry",
    "policy [--cwd DIR] [--format text|json|bwrap|seatbelt]",
    policy_options,
    "  text      for people: what can be read and written, what is protected, and why\n"
    "  json      the same for programs\n"
    "  bwrap     a shell command line that makes the same walls with bubblewrap alone;\n"
    "            put your own command in the place of COMMAND\n"
    "  seatbelt  the same policy as a macOS Seatbelt profile\n"};

const command_help doctor_help = {
    "doctor",
    "",
    "check every prerequisite and say how to fix what is missing",
    "doctor [--json]",
    doctor_options,
    "The exit status is 1 if a sandbox cannot be made on this machine.\n"};

} // namespace piorch::cli
