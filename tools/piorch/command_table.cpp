#include "tools/piorch/commands.hpp"

namespace piorch::cli {

namespace {

// One a line, so that two branches can add theirs.
// clang-format off
constexpr command table[] = {
    {&exec_help, exec_command},
    {&policy_help, policy_command},
    {&doctor_help, doctor_command},
    {&config_help, config_command},
    {&serve_help, serve_command},
    {&version_help, version_command},
    {&help_help, help_command},
};
// clang-format on

} // namespace

table_of<command> command_table() { return table; }

} // namespace piorch::cli
