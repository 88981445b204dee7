// `piorch approve` and `piorch deny`: the answer to a request for approval,
// whichever of the user's orchestrators it waits in.
#include "config/text.hpp"
#include "tools/piorch/answer_approval.hpp"
#include "tools/piorch/commands.hpp"
#include "tools/piorch/exit_status.hpp"
#include "tools/piorch/instances.hpp"
#include "tools/piorch/output.hpp"

#include <nlohmann/json.hpp>

namespace piorch::cli {

namespace {

constexpr option approve_options[] = {{0, "json", "", "print {} when it is answered"}};
constexpr option deny_options[] = {
    {0, "reason", "TEXT", "told to the program and to whoever reads its output"},
    {0, "json", "", "print {} when it is answered"},
};

int answer(std::string_view command, const arguments& args, option_list known, bool allow) {
  const auto given =
      parse_one_word(known, args, "exactly one ID is expected (piorch approvals shows them)");
  if (!given)
    return usage_error(command, given.failed().text);
  ipc::approval_answer_params p;
  p.id = given->words[0];
  p.decision.allow = allow;
  if (const auto* reason = given->last("reason"))
    p.decision.reason = *reason;
  const auto answered = answer_approval(p);
  if (answered)
    return given->has("json") ? print("{}\n") : exit_done;
  complain(command, answered.failed().text);
  return status_of(answered.failed().code);
}

} // namespace

const command_help approve_help = {"approve",
                                   "",
                                   "allow what a request for approval asks for, once",
                                   "approve ID",
                                   approve_options,
                                   "It holds for that one connection or command. The first "
                                   "answer to a request counts.\n"};
const command_help deny_help = {
    "deny",       "", "refuse what a request for approval asks for", "deny [--reason TEXT] ID",
    deny_options, ""};

result<done> answer_approval(const ipc::approval_answer_params& answer) {
  const auto directory = open_instance_directory();
  if (!directory)
    return directory.failed();
  error last{failure::unknown_approval,
             "no approval request " + config::in_quotes(answer.id) +
                 " waits: it was answered, has expired, is gone or never was"};
  for (auto& one : live_instances(*directory)) {
    auto answered = one.peer.call(answer, instance_answer_time);
    if (answered)
      return done{};
    if (answered.failed().code != failure::unknown_approval)
      last = answered.failed();
  }
  return last;
}

int approve_command(const arguments& args) {
  return answer("approve", args, approve_options, true);
}
int deny_command(const arguments& args) { return answer("deny", args, deny_options, false); }

} // namespace piorch::cli
