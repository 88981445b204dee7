// `piorch policy`: the effective policy of a directory, in four forms.
#include "config/text.hpp"
#include "sandbox/bwrap_args.hpp"
#include "sandbox/policy_report.hpp"
#include "sandbox/seatbelt.hpp"
#include "sandbox/survey.hpp"
#include "tools/piorch/commands.hpp"
#include "tools/piorch/exit_status.hpp"
#include "tools/piorch/output.hpp"
#include "tools/piorch/surroundings.hpp"

#include <unistd.h>

namespace piorch::cli {

namespace {

int refuse(const error& why) {
  complain("policy", why.text);
  return status_of(why.code);
}

} // namespace

int policy_command(const arguments& args) {
  const auto given = parse_options(policy_help.options, args);
  if (!given)
    return usage_error("policy", given.failed().text);
  if (!given->words.empty() || !given->rest.empty())
    return usage_error("policy", "takes no argument: name a directory with --cwd");
  std::string format = "text";
  if (const std::string* named = given->last("format"))
    format = *named;
  if (given->has("json")) {
    if (given->has("format") && format != "json")
      return usage_error("policy", "--json and --format " + config::printable(format, 80) +
                                       " contradict each other");
    format = "json";
  }
  if (format != "text" && format != "json" && format != "bwrap" && format != "seatbelt")
    return usage_error("policy",
                       config::in_quotes(format) + " is none of text, json, bwrap and seatbelt");

  auto around = look_around();
  if (!around)
    return refuse(around.failed());
  const std::string* cwd = given->last("cwd");
  around->policy.workspace = cwd ? absolute(*cwd, around->current_directory) : ".";
  auto rules = sandbox::make_policy(around->settings.values, around->policy);
  if (!rules)
    return refuse(rules.failed());
  if (auto surveyed = sandbox::survey_workspace(*rules, around->policy); !surveyed)
    return refuse(surveyed.failed());

  if (format == "bwrap")
    return print(
        "# The walls alone: `piorch exec` adds a private temporary directory, a filter of\n"
        "# system calls, the network proxies and limits.\n" +
        sandbox::bwrap_text(sandbox::make_plan(*rules, {}), rules->workspace));
  if (format == "seatbelt") {
    auto profile = sandbox::seatbelt_profile(*rules);
    return profile ? print(*profile) : refuse(profile.failed());
  }
  sandbox::policy_report report;
  report.rules = std::move(*rules);
  report.settings_file = around->settings.file;
  const auto guard = sandbox::find_guard_support();
  report.guarded = guard.error == 0;
  report.guard_interruptible = guard.interruptible;
  if (!report.guarded)
    report.unguarded_because = sandbox::remedy_for_no_notification(guard.error);
  report.limits = sandbox::find_limit_mechanisms();
  return print(format == "json" ? sandbox::policy_json(report)
                                : sandbox::policy_text(report, colour_wanted(STDOUT_FILENO)));
}

} // namespace piorch::cli
