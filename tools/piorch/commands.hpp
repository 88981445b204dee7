// The sub-commands: what each is called, what help says about it, what runs it.
// One file per command; a new one adds a row in command_table.cpp.
#pragma once

#include "tools/piorch/options.hpp"

#include <string>
#include <string_view>

namespace piorch::cli {

// What `piorch help COMMAND` prints.
struct command_help {
  std::string_view name;
  std::string_view alias;    // "": none
  std::string_view summary;  // one line for the overview
  std::string_view synopsis; // the forms, a line each, without "piorch "
  option_list options;
  std::string_view details; // further text, "" or ending in a newline
};

struct command {
  const command_help* help;
  // Runs the command; the answer is the exit status. --help is dealt with before.
  int (*run)(const arguments& args);
};

// All commands, in the order of the overview.
table_of<command> command_table();

// By name or alias; nullptr if there is none.
const command* find_command(std::string_view name);

// The complete help text of one command, and the overview of all.
std::string help_text(const command_help& about, bool colour);
std::string overview_text(bool colour);

// "unknown command "x"", with the nearest one.
std::string unknown_command_text(std::string_view name);

int start_command(const arguments& args);
int follow_up_command(const arguments& args);
int handoff_command(const arguments& args);
int wait_command(const arguments& args);
int status_command(const arguments& args);
int follow_command(const arguments& args);
int result_command(const arguments& args);
int abort_command(const arguments& args);
int stop_command(const arguments& args);
int approvals_command(const arguments& args);
int approve_command(const arguments& args);
int deny_command(const arguments& args);
int completions_command(const arguments& args);
int config_command(const arguments& args);
int doctor_command(const arguments& args);
int exec_command(const arguments& args);
int help_command(const arguments& args);
int policy_command(const arguments& args);
int serve_command(const arguments& args);
int version_command(const arguments& args);
int why_command(const arguments& args);

extern const command_help start_help;
extern const command_help follow_up_help;
extern const command_help handoff_help;
extern const command_help wait_help;
extern const command_help status_help;
extern const command_help follow_help;
extern const command_help result_help;
extern const command_help abort_help;
extern const command_help stop_help;
extern const command_help approvals_help;
extern const command_help approve_help;
extern const command_help deny_help;
extern const command_help completions_help;
extern const command_help config_help;
extern const command_help doctor_help;
extern const command_help exec_help;
extern const command_help help_help;
extern const command_help policy_help;
extern const command_help serve_help;
extern const command_help version_help;
extern const command_help why_help;

} // namespace piorch::cli
