// `piorch serve`: becomes libexec/piorch/piorch-serve. This program stays free of
// CAF and starts in a millisecond.
#include "tools/piorch/commands.hpp"
#include "tools/piorch/exit_status.hpp"
#include "tools/piorch/output.hpp"

#include "config/paths.hpp"

#include <cerrno>
#include <cstring>
#include <unistd.h>

namespace piorch::cli {

namespace {
constexpr option options[] = {
    {0, "stdio", "", "speak the protocol on stdin and stdout, for the parent process only"},
    {0, "idle", "S", "leave after S seconds without clients and sessions (60; 0: stay)"},
};
} // namespace

const command_help serve_help = {
    "serve",
    "",
    "the orchestrator: runs commands and sessions for its clients",
    "serve [--idle S]\nserve --stdio",
    options,
    "Commands start one by themselves when they need it. The protocol is described in\n"
    "docs/protocol.md.\n"};

int serve_command(const arguments& args) {
  const auto given = parse_options(options, args);
  if (!given)
    return usage_error("serve", given.failed().text);
  if (!given->words.empty() || !given->rest.empty())
    return usage_error("serve", "takes no argument");
  const std::string* idle = given->last("idle");
  if (idle && (idle->empty() || idle->size() > 9 ||
               idle->find_first_not_of("0123456789") != std::string::npos))
    return usage_error("serve", "--idle needs a number of seconds");
  if (idle && given->has("stdio"))
    return usage_error("serve", "--stdio ends with its parent; --idle has no meaning there");
  const auto libexec = config::own_libexec_dir();
  if (!libexec) {
    complain("serve", libexec.failed().text);
    return exit_no_orchestrator;
  }
  const std::string program = *libexec + "/piorch-serve";
  if (given->has("stdio"))
    ::execl(program.c_str(), "piorch-serve", "--stdio", nullptr);
  else if (idle)
    ::execl(program.c_str(), "piorch-serve", "--idle", idle->c_str(), nullptr);
  else
    ::execl(program.c_str(), "piorch-serve", nullptr);
  complain("serve",
           "cannot run " + program + ": " + std::strerror(errno) + "; install piorch again");
  return exit_no_orchestrator;
}

} // namespace piorch::cli
