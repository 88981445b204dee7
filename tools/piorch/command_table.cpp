#include "tools/piorch/commands.hpp"

namespace piorch::cli {

namespace {

constexpr command table[] = {
    {&exec_help, exec_command},   {&policy_help, policy_command},   {&config_help, config_command},
    {&serve_help, serve_command}, {&version_help, version_command}, {&help_help, help_command},
};

} // namespace

table_of<command> command_table() { return table; }

} // namespace piorch::cli
