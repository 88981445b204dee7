#include "sandbox/policy_report.hpp"

#include "sandbox/bwrap_args.hpp"
#include "sandbox/scratch.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace piorch::sandbox {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

policy_report example() {
  policy_report r;
  r.rules.workspace = "/home/ada/app";
  r.rules.temp_dir = "/tmp";
  r.rules.rules = {
      {access::hide, "/home/ada", {}, "the user's home directory", true},
      {access::read, "/home/ada/.gitconfig", "/srv/dot/gitconfig", "Git's user settings", true},
      {access::read, "/home/ada/models", {}, "filesystem.additionalAllowRead", false},
      {access::write, "/home/ada/app", {}, "the workspace", true},
      {access::pin, "/home/ada/app/.git", {}, "the repository itself must not be replaced", true},
      {access::protect, "/home/ada/app/.git/hooks", {}, "runs programs", true},
      {access::protect, "/home/ada/app/.env", {}, "secrets of the project", false},
      {access::protect, "/home/ada/app/secrets", {}, "secrets of the project", false},
  };
  r.rules.settings.network.allowed_domains = {
      *config::parse_pattern("*.example.org", config::domain_list::allowed)};
  r.rules.settings.network.denied_domains = {
      *config::parse_pattern("*:25", config::domain_list::denied)};
  r.rules.settings.network.allowed_local_ports = {5432};
  return r;
}

TEST(SandboxPolicyReport, TextNamesEveryRuleWithItsReason) {
  const policy_report r = example();
  const std::string text = policy_text(r, false);
  for (const rule& one : r.rules.rules)
    EXPECT_THAT(text, HasSubstr(one.reason)) << one.path;
  for (const char* line :
       {"    workspace  /home/ada/app\n", "the defaults: there is no configuration file",
        "    /home/ada/.gitconfig  Git's user settings, from /srv/dot/gitconfig\n",
        "    /home/ada/models      filesystem.additionalAllowRead (does not exist)\n",
        "    .git/hooks  runs programs\n", "secrets of the project: .env, secrets\n",
        "refused: *:25\n", "permitted: *.example.org\n", "loopback: 5432\n", "16384 MiB",
        "  a private directory for temporary files"})
    EXPECT_THAT(text, HasSubstr(line));
  EXPECT_THAT(text, HasSubstr("    " + scratch_parent("/tmp") + "/pi-sandbox-tmp-*"));
  EXPECT_EQ(json::parse(policy_json(r))["temporaryParent"], scratch_parent("/tmp"));
  EXPECT_THAT(text, Not(HasSubstr("\x1b")));
}

TEST(SandboxPolicyReport, WhatEveryStartMakesIsHiddenAlsoWhenItIsNotThere) {
  policy_report r = example();
  r.rules.rules.push_back({access::hide, "/tmp/all", {}, "of all sandboxes", false});
  EXPECT_THAT(policy_text(r, false), testing::ContainsRegex("/tmp/all +of all sandboxes\n"));
  EXPECT_EQ(json::parse(policy_json(r))["rules"].back()["enforcedBy"], "mount");
}

TEST(SandboxPolicyReport, SaysWhetherAbsentNamesAreProtected) {
  policy_report r = example();
  r.unguarded_because = "too old";
  EXPECT_THAT(policy_text(r, false),
              HasSubstr("no command is started here, since names that do not exist could not be "
                        "protected: too old\n"));
  EXPECT_THAT(policy_text(r, false), Not(HasSubstr("cannot be created")));
  EXPECT_EQ(json::parse(policy_json(r))["createGuard"], false);
  EXPECT_EQ(json::parse(policy_json(r))["createGuardProblem"], "too old");
  r.guarded = true;
  EXPECT_THAT(policy_text(r, false), HasSubstr("cannot be created: do not exist now"));
  EXPECT_THAT(policy_text(r, false), Not(HasSubstr("no command is started")));
  EXPECT_EQ(json::parse(policy_json(r))["createGuard"], true);
  EXPECT_EQ(json::parse(policy_json(r))["createGuardProblem"], nullptr);
  EXPECT_EQ(json::parse(policy_json(r))["createGuardMode"], "full");
  r.guard_interruptible = true;
  EXPECT_THAT(policy_text(r, false), HasSubstr("this kernel (before 5.19)"));
  EXPECT_EQ(json::parse(policy_json(r))["createGuardMode"], "replay");
}

// The guard lets `git init` make it, and nothing else.
TEST(SandboxPolicyReport, ARepositoryThatIsNotThereYet) {
  policy_report r = example();
  r.guarded = true;
  EXPECT_THAT(policy_text(r, false), Not(HasSubstr("only as a new directory")));
  r.rules.rules.push_back({access::protect, "/home/ada/app/.git", {}, "run by Git", false});
  EXPECT_THAT(policy_text(r, false),
              HasSubstr(".git of the workspace, which does not exist: only as a new directory\n"));
  EXPECT_THAT(policy_text(r, false), Not(HasSubstr("run by Git: ")));
}

TEST(SandboxPolicyReport, ColourOnlyWhenWanted) {
  EXPECT_THAT(policy_text(example(), true), HasSubstr("\x1b[1mReading\x1b[0m\n"));
}

// A name that a worker made must neither drive the terminal nor look like a line of ours.
TEST(SandboxPolicyReport, HostilePaths) {
  const std::pair<const char*, const char*> cases[] = {
      {"a\x1b[2J.pem", R"("a\x1b[2J.pem")"},
      {"a\nNetwork\n.pem", R"("a\x0aNetwork\x0a.pem")"},
      {"\xff.pem", R"("\xff.pem")"},
      {"a\\x0a.pem", R"("a\\x0a.pem")"},
      {"a\".pem", R"("a\".pem")"},
      {"a, b.pem", R"("a, b.pem")"},
      {" .pem", R"(" .pem")"},
      {"\xe2\x80\xae.pem", R"("\xe2\x80\xae.pem")"}, // right-to-left override
      {"gr\xc3\xbc\xc3\x9f.pem", "gr\xc3\xbc\xc3\x9f.pem"},
      {"a b.pem", "a b.pem"},
  };
  for (const auto& [name, shown] : cases)
    for (const bool present : {true, false}) {
      policy_report r = example();
      r.rules.rules.push_back(
          {access::protect, std::string("/home/ada/app/") + name, {}, "because", present});
      const std::string text = policy_text(r, false);
      EXPECT_THAT(text, HasSubstr(present ? std::string("    ") + shown
                                          : std::string("because: ") + shown));
      EXPECT_EQ(text.find_first_of("\x1b\xff"), std::string::npos);
      EXPECT_THAT(text, Not(HasSubstr("\nNetwork\n.pem")));
    }
}

TEST(SandboxPolicyReport, JsonHasEveryRule) {
  policy_report r = example();
  r.guarded = true;
  r.settings_file = "/home/ada/config.json";
  const json out = json::parse(policy_json(r));
  ASSERT_EQ(out["rules"].size(), r.rules.rules.size());
  for (std::size_t i = 0; i < r.rules.rules.size(); ++i) {
    const rule& one = r.rules.rules[i];
    const json& entry = out["rules"][i];
    EXPECT_EQ(entry["access"], name_of(one.what));
    EXPECT_EQ(entry["path"], one.path);
    EXPECT_EQ(entry.value("source", ""), one.source);
    EXPECT_EQ(entry["reason"], one.reason);
    EXPECT_EQ(entry["present"], one.present);
  }
  EXPECT_EQ(out["rules"][2]["enforcedBy"], "nothing") << "what is not there cannot be shown";
  EXPECT_EQ(out["rules"][5]["enforcedBy"], "mount");
  EXPECT_EQ(out["rules"][6]["enforcedBy"], "guard");
  EXPECT_EQ(out["settingsFile"], "/home/ada/config.json");
  EXPECT_EQ(out["network"]["allowedDomains"], json({"*.example.org"}));
  EXPECT_EQ(out["network"]["deniedDomains"], json({"*:25"}));
  EXPECT_EQ(out["network"]["allowedLocalPorts"], json({5432}));
  EXPECT_EQ(out["limits"]["processes"], 4096);
  EXPECT_FALSE(out["rules"][0].contains("pathBase64"));
}

TEST(SandboxPolicyReport, JsonKeepsBytesThatAreNoText) {
  policy_report r = example();
  r.rules.rules.push_back({access::protect, "/home/ada/app/\xff", {}, "x", true});
  const json out = json::parse(policy_json(r));
  EXPECT_EQ(out["rules"].back()["path"], "/home/ada/app/\xef\xbf\xbd");
  EXPECT_EQ(out["rules"].back()["pathBase64"], "L2hvbWUvYWRhL2FwcC//");
}

TEST(SandboxPolicyReport, CommandLineShowsNoControlCharacters) {
  plan p;
  p.trees = {"/w"};
  p.inner = {{0, "a\x1b[2J'\n\\.pem", true}, {0, "it's.pem", true}};
  const std::string text = bwrap_text(p, "/w");
  EXPECT_THAT(text, HasSubstr(R"(--ro-bind $'/w/a\x1b[2J\x27\x0a\x5c.pem')"));
  EXPECT_THAT(text, HasSubstr(R"('/w/it'\''s.pem')"));
  EXPECT_EQ(text.find('\x1b'), std::string::npos);
}

TEST(SandboxFacilities, HowLimitsHold) {
  using processes = limit_mechanisms::processes_type;
  using memory = limit_mechanisms::memory_type;
  EXPECT_EQ(judge_limits("6.14.0-arch1", true, true).processes, processes::pid_namespace);
  EXPECT_EQ(judge_limits("7.0", false, true).processes, processes::pid_namespace);
  EXPECT_EQ(judge_limits("6.13.9", false, true).processes, processes::user_limit);
  EXPECT_EQ(judge_limits("6.1.0-18-amd64", true, true).processes, processes::none);
  EXPECT_EQ(judge_limits("5.19", false, false).memory, memory::each_process);
  EXPECT_EQ(judge_limits("nonsense", false, true).processes, processes::user_limit);
  EXPECT_EQ(judge_limits("5.19", false, true).memory, memory::group);
}

TEST(SandboxFacilities, ALimitThatCannotBeHeldIsNamed) {
  const auto of_root = judge_limits("6.14", true, true);
  EXPECT_THAT(describe_processes(of_root, 300), HasSubstr("301, the least that pid_max can be; "
                                                          "300 was asked for"));
  EXPECT_THAT(describe_processes(of_root, 301), Not(HasSubstr("asked")));
  EXPECT_THAT(describe_processes(judge_limits("6.14", false, true), 5), Not(HasSubstr("asked")));
  policy_report r = example();
  r.limits = of_root;
  r.rules.settings.limits.processes = 5;
  EXPECT_THAT(policy_text(r, false), HasSubstr("5 was asked for"));
  EXPECT_THAT(std::string(json::parse(policy_json(r))["limits"]["processesEnforcedBy"]),
              HasSubstr("5 was asked for"));
}

std::string process_status() {
  std::string out;
  if (FILE* in = std::fopen("/proc/self/status", "r")) {
    char line[256];
    while (std::fgets(line, sizeof line, in))
      if (std::string_view(line).substr(0, 7) == "Seccomp" ||
          std::string_view(line).substr(0, 10) == "NoNewPrivs")
        out += line;
    std::fclose(in);
  }
  return out;
}

TEST(SandboxFacilities, AskingChangesNothing) {
  const std::string before = process_status();
  EXPECT_THAT(before, HasSubstr("Seccomp:"));
  const auto found = find_facilities();
  ASSERT_FALSE(found.empty());
  for (const facility& f : found) // what every kernel has that the tests can run on
    EXPECT_EQ(f.error, 0) << f.name;
  EXPECT_EQ(process_status(), before);
}

} // namespace
} // namespace piorch::sandbox
