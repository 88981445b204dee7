#include "sandbox/doctor.hpp"

#include "sandbox/examine.hpp"

#include <algorithm>
#include <cerrno>
#include <functional>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace piorch::sandbox {
namespace {

using testing::HasSubstr;
using testing::Not;

machine_facts healthy() {
  machine_facts m;
  m.kernel = "6.12.0";
  m.distribution = "debian ";
  m.bwrap = "/usr/bin/bwrap";
  m.bwrap_version = "0.11.0";
  m.max_user_namespaces = 63000;
  m.facilities = {{"openat2", "to find paths", "5.6", 0},
                  {"seccomp notification", "to protect names", "5.19", 0}};
  m.limits = judge_limits("6.14", false, true);
  m.processes = 4096;
  m.memory_mib = 16384;
  m.libexec_dir = "/usr/libexec/piorch";
  m.temp.path = "/tmp";
  m.runtime.path = "/run/user/1000/piorch";
  m.state.path = "/home/ada/.local/state/piorch";
  m.node = "/usr/bin/node";
  m.node_version = "v24.0.0";
  m.pi = "/usr/bin/pi";
  m.pi_version = "1.6.0";
  m.sandbox.made = true;
  m.sandbox.exit_code = 0;
  m.sandbox.output = "Name:\tcat\nCapEff:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n4096\n";
  return m;
}

machine_facts no_sandbox(const char* problem) {
  machine_facts m = healthy();
  m.sandbox = {};
  m.sandbox.problem = problem;
  return m;
}

bool possible(const std::vector<finding>& all) {
  return std::none_of(all.begin(), all.end(),
                      [](const finding& f) { return f.what == verdict::failed; });
}

TEST(SandboxDoctor, AHealthyMachine) {
  for (const finding& f : diagnose(healthy())) {
    EXPECT_EQ(f.what, verdict::ok) << f.name << ": " << f.detail;
    EXPECT_EQ(f.remedy, "") << f.name;
  }
  EXPECT_THAT(findings_text(diagnose(healthy()), false),
              HasSubstr("ok    bubblewrap: 0.11.0 at /usr/bin/bwrap\n"));
}

struct doctor_case {
  const char* name;
  bool sandbox_made;
  std::function<void(machine_facts&)> change;
  verdict what;
  const char* finding_name;
  const char* detail;
  const char* remedy;
};

TEST(SandboxDoctor, WhatIsWrongAndHowToFixIt) {
  const doctor_case cases[] = {
      {"no bubblewrap", false, [](auto& m) { m.bwrap = ""; }, verdict::failed, "bubblewrap",
       "not found", "sudo apt-get install bubblewrap"},
      {"no bubblewrap on Fedora", false,
       [](auto& m) {
         m.bwrap = "";
         m.distribution = "fedora ";
       },
       verdict::failed, "bubblewrap", "not found", "sudo dnf install bubblewrap"},
      {"no bubblewrap elsewhere", false,
       [](auto& m) {
         m.bwrap = "";
         m.distribution = "xyz";
       },
       verdict::failed, "bubblewrap", "not found", "install the package bubblewrap"},
      {"old bubblewrap that works", true, [](auto& m) { m.bwrap_version = "0.4.1"; },
       verdict::warning, "bubblewrap", "older than 0.8.0", "apt-get install"},
      {"old bubblewrap", false, [](auto& m) { m.bwrap_version = "0.4.1"; }, verdict::failed,
       "bubblewrap", "older than 0.8.0", "apt-get install"},
      {"mute bubblewrap", false, [](auto& m) { m.bwrap_version = ""; }, verdict::failed,
       "bubblewrap", "does not say its version", "apt-get install"},
      {"namespaces switched off", false, [](auto& m) { m.max_user_namespaces = 0; },
       verdict::failed, "user namespaces", "user.max_user_namespaces is 0",
       "sudo sysctl -w user.max_user_namespaces=15000"},
      {"namespaces used up", false, [](auto& m) { m.user_namespace_error = ENOSPC; },
       verdict::failed, "user namespaces", "too many", "sudo sysctl -w user.max_user_namespaces"},
      {"Debian's switch", false,
       [](auto& m) {
         m.user_namespace_error = EPERM;
         m.unprivileged_namespaces = 0;
       },
       verdict::failed, "user namespaces", "kernel.unprivileged_userns_clone is 0",
       "sudo sysctl -w kernel.unprivileged_userns_clone=1"},
      {"Debian's switch does not bind root", false,
       [](auto& m) {
         m.user_namespace_error = EPERM;
         m.unprivileged_namespaces = 0;
         m.root = true;
       },
       verdict::failed, "user namespaces", "forbids", "--security-opt seccomp=unconfined"},
      {"a container's filter", false, [](auto& m) { m.user_namespace_error = EPERM; },
       verdict::failed, "user namespaces", "forbids", "--security-opt seccomp=unconfined"},
      {"a kernel without them", false, [](auto& m) { m.user_namespace_error = EINVAL; },
       verdict::failed, "user namespaces", "cannot be made", "CONFIG_USER_NS"},
      {"AppArmor of Ubuntu 24.04", false, [](auto& m) { m.apparmor_restricts = 1; },
       verdict::failed, "AppArmor", "bubblewrap is not excepted", "/etc/apparmor.d/bwrap"},
      {"AppArmor with an exception", true, [](auto& m) { m.apparmor_restricts = 1; }, verdict::ok,
       "AppArmor", "bubblewrap may", ""},
      {"masked /proc", false,
       [](auto& m) {
         m.covered_proc = {"/proc/kcore", "/proc/keys"};
       },
       verdict::failed, "/proc", "/proc/kcore, /proc/keys", "unmask=ALL"},
      {"masked /proc of a privileged container", true,
       [](auto& m) { m.covered_proc = {"/proc/kcore"}; }, verdict::ok, "/proc", "all the same", ""},
      {"old kernel", false,
       [](auto& m) {
         m.kernel = "5.4.0";
         m.facilities[0].error = ENOSYS;
       },
       verdict::failed, "kernel", "openat2 is missing", "use Linux 5.6 or newer; this is 5.4.0"},
      {"filtered call", false, [](auto& m) { m.facilities[0].error = EPERM; }, verdict::failed,
       "kernel", "openat2 is missing", "seccomp=unconfined"},
      {"no notification", true, [](auto& m) { m.facilities[1].error = EINVAL; }, verdict::warning,
       "kernel", "seccomp notification is missing", "use Linux 5.19"},
      {"older notification", false,
       [](auto& m) {
         m.facilities.push_back({"uninterrupted notification", "so", "5.19", EINVAL, false});
       },
       verdict::warning, "kernel", "uninterrupted notification is missing: so", "use Linux 5.19"},
      {"notification taken", false, [](auto& m) { m.facilities[1].error = EBUSY; }, verdict::failed,
       "kernel", "seccomp notification is taken by another program", "outside of LXD"},
      {"configuration", true, [](auto& m) { m.settings_error = "/x: network: no"; },
       verdict::failed, "configuration", "/x: network: no", "piorch config check"},
      {"helpers", false, [](auto& m) { m.missing_helpers = {"piorch-init"}; }, verdict::failed,
       "helpers", "piorch-init missing in /usr/libexec/piorch", "cmake --install"},
      {"helpers of sessions", true, [](auto& m) { m.missing_session_helpers = {"piorch-serve"}; },
       verdict::warning, "helpers", "piorch-serve missing", "cmake --install"},
      {"temporary directory", true, [](auto& m) { m.temp.error = "no"; }, verdict::warning,
       "temporary directory", "without a writable one", "TMPDIR"},
      {"runtime directory", true, [](auto& m) { m.runtime.error = "somebody else's"; },
       verdict::warning, "runtime directory", "somebody else's", "mv /run/user/1000/piorch"},
      {"state directory", true, [](auto& m) { m.state.error = "a file"; }, verdict::warning,
       "state directory", "a file", "mv "},
      {"no directory for the runtime directory", true,
       [](auto& m) {
         m.runtime = {"/run/user/1000/piorch", "not there", true, "/run/user/1000"};
       },
       verdict::warning, "runtime directory", "not there",
       "make it: mkdir -p -m 700 /run/user/1000"},
      {"runtime directory that cannot be made", true,
       [](auto& m) {
         m.runtime = {"/run/piorch", "not permitted", true, ""};
       },
       verdict::warning, "runtime directory", "not permitted", "export XDG_RUNTIME_DIR="},
      {"state directory that cannot be made", true,
       [](auto& m) {
         m.state = {"/piorch", "not permitted", true, ""};
       },
       verdict::warning, "state directory", "not permitted", "export XDG_STATE_HOME="},
      {"Node.js", true, [](auto& m) { m.node = ""; }, verdict::warning, "Node.js", "no node",
       "install Node.js 22.19 or newer, for example: sudo apt-get install npm && sudo npm install "
       "-g "
       "node@24"},
      {"Node.js that Pi does not run with", true, [](auto& m) { m.node_version = "v20.20.2"; },
       verdict::warning, "Node.js", "v20.20.2 at /usr/bin/node is too old for Pi",
       "install Node.js 22.19 or newer, for example: sudo npm install -g node@24"},
      {"Node.js just too old", true, [](auto& m) { m.node_version = "v22.18.9"; }, verdict::warning,
       "Node.js", "too old", "22.19"},
      {"the oldest Node.js for Pi", true, [](auto& m) { m.node_version = "v22.19.0"; }, verdict::ok,
       "Node.js", "v22.19.0 at", ""},
      {"Node.js inside", true, [](auto& m) { m.node_version = ""; }, verdict::warning, "Node.js",
       "does not run in a sandbox", "piorch exec -- node --version"},
      {"Pi", true, [](auto& m) { m.pi = ""; }, verdict::warning, "Pi", "no pi", "npm install -g"},
      {"processes of root", true, [](auto& m) { m.limits = judge_limits("6.1", true, true); },
       verdict::warning, "limit of processes", "not enforced", "ordinary user"},
      {"few processes of root", true,
       [](auto& m) {
         m.limits = judge_limits("6.14", true, true);
         m.processes = 5;
       },
       verdict::warning, "limit of processes", "301, the least that pid_max can be; 5 was asked",
       "limits.processes to 301"},
      {"memory", true, [](auto& m) { m.limits = judge_limits("6.14", true, false); },
       verdict::warning, "limit of memory", "each process", "systemd-run --user --scope"},
      {"no filter", true,
       [](auto& m) { m.sandbox.output = "CapEff:\t0\nNoNewPrivs:\t1\nSeccomp:\t0\n"; },
       verdict::failed, "sandbox", "without all of its walls", "report"},
      {"capabilities", true,
       [](auto& m) {
         m.sandbox.output = "CapEff:\t00000000a80425fb\nNoNewPrivs:\t1\nSeccomp:\t2\n";
       },
       verdict::failed, "sandbox", "without all of its walls", "report"},
      {"no answer", true, [](auto& m) { m.sandbox.output = ""; }, verdict::failed, "sandbox",
       "without all of its walls", "report"},
  };
  for (const doctor_case& c : cases) {
    machine_facts m = c.sandbox_made ? healthy() : no_sandbox("bubblewrap said no");
    c.change(m);
    const auto all = diagnose(m);
    const auto found = std::find_if(all.begin(), all.end(), [&](const finding& f) {
      return f.name == c.finding_name && f.detail.find(c.detail) != std::string::npos;
    });
    ASSERT_NE(found, all.end()) << c.name << "\n" << findings_text(all, false);
    EXPECT_EQ(found->what, c.what) << c.name;
    EXPECT_THAT(found->remedy, HasSubstr(c.remedy)) << c.name;
    EXPECT_EQ(found->remedy.empty(), c.what == verdict::ok) << c.name;
    EXPECT_EQ(possible(all), c.sandbox_made && c.what != verdict::failed) << c.name;
  }
}

TEST(SandboxDoctor, AFailureThatNothingElseExplains) {
  const auto all = diagnose(no_sandbox("PID 1 ended"));
  EXPECT_EQ(all.back().name, "sandbox");
  EXPECT_THAT(all.back().detail, HasSubstr("PID 1 ended"));
  EXPECT_THAT(all.back().remedy, HasSubstr("report"));
  const auto refused = diagnose(no_sandbox("cannot make a sandbox: guard: busy; leave LXD")).back();
  EXPECT_EQ(refused.detail, "cannot be made: guard: busy");
  EXPECT_EQ(refused.remedy, "leave LXD");
  machine_facts m = no_sandbox("PID 1 ended");
  m.bwrap = "";
  EXPECT_EQ(diagnose(m).back().remedy, "see above");
  m = no_sandbox("PID 1 ended");
  m.settings_error = "wrong key";
  EXPECT_THAT(diagnose(m).back().remedy, HasSubstr("report")) << "that does not explain it";
}

TEST(SandboxDoctor, TextAndJson) {
  machine_facts m = no_sandbox("x\x1b[2J\ny");
  m.bwrap = "";
  const auto all = diagnose(m);
  const std::string plain = findings_text(all, false), colour = findings_text(all, true);
  EXPECT_THAT(plain, HasSubstr("FAIL  bubblewrap: not found"));
  EXPECT_THAT(plain, HasSubstr("\n      fix: sudo apt-get install bubblewrap\n"));
  EXPECT_THAT(plain, HasSubstr("x\\x1b[2J\\x0ay"));
  EXPECT_THAT(plain, Not(HasSubstr("\x1b")));
  EXPECT_THAT(colour, HasSubstr("\x1b[31;1mFAIL\x1b[0m  bubblewrap"));
  const auto json = nlohmann::json::parse(findings_json(all));
  EXPECT_EQ(json["ok"], false);
  ASSERT_EQ(json["findings"].size(), all.size());
  EXPECT_EQ(json["findings"][0]["status"], "fail");
  EXPECT_EQ(json["findings"][0]["name"], "bubblewrap");
  EXPECT_EQ(json["findings"][0]["remedy"], "sudo apt-get install bubblewrap");
  const auto healthy_json = nlohmann::json::parse(findings_json(diagnose(healthy())));
  EXPECT_EQ(healthy_json["ok"], true);
  EXPECT_TRUE(healthy_json["findings"][0]["remedy"].is_null());
}

TEST(SandboxDoctor, CoversOfProc) {
  EXPECT_TRUE(covered_proc("25 1 0:23 / /proc rw,nosuid - proc proc rw\n"
                           "30 25 0:40 / /proc/sys/fs/binfmt_misc rw - binfmt_misc none rw\n"
                           "31 1 0:23 / /procession rw - tmpfs none rw\n")
                  .empty());
  EXPECT_THAT(covered_proc("40 25 0:5 /null /proc/kcore rw - devtmpfs udev rw\n"
                           "41 25 0:50 / /proc/acpi ro - tmpfs tmpfs ro\n"
                           "42 25 0:50 / /proc/acpi ro - tmpfs tmpfs ro\n"),
              testing::ElementsAre("/proc/kcore", "/proc/acpi"));
  EXPECT_TRUE(covered_proc("").empty());
}

} // namespace
} // namespace piorch::sandbox
