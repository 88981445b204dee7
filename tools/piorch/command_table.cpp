#include "tools/piorch/commands.hpp"

namespace piorch::cli {

namespace {

// One a line, so that two branches can add theirs.
// clang-format off
constexpr command table[] = {
    {&exec_help, exec_command},
    {&start_help, start_command},
    {&follow_up_help, follow_up_command},
    {&handoff_help, handoff_command},
    {&wait_help, wait_command},
    {&status_help, status_command},
    {&follow_help, follow_command},
    {&result_help, result_command},
    {&why_help, why_command},
    {&abort_help, abort_command},
    {&stop_help, stop_command},
    {&approvals_help, approvals_command},
    {&approve_help, approve_command},
    {&deny_help, deny_command},
    {&policy_help, policy_command},
    {&doctor_help, doctor_command},
    {&config_help, config_command},
    {&serve_help, serve_command},
    {&completions_help, completions_command},
    {&version_help, version_command},
    {&help_help, help_command},
};
// clang-format on

} // namespace

table_of<command> command_table() { return table; }

} // namespace piorch::cli
