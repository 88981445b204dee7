// What piorch policy prints is what holds.
#include "sandbox/scratch.hpp"
#include "tests/tools/cli.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

namespace piorch::cli {
namespace {

class PolicyHolds : public Cli {
protected:
  PolicyHolds() {
    home.write("app/.env", "secret");
    home.write("app/certs/site.pem", "key");
    home.write("app/it's, \"odd\"\n.key", "key");
    home.write("app/src/main.c", "int main;");
  }

  // Other sandboxes come and go: where they lie would go with the last one, and a printed line that
  // hides it could not any more.
  const result<sandbox::scratch> other = sandbox::scratch::make(sandbox::system_temp());
};

// The printed command line, with a command in the place of COMMAND, makes these walls.
TEST_F(PolicyHolds, CommandLine) {
  home.write("app/try", "w() { (echo x >>\"$1\") 2>/dev/null && echo \"$1 written\"; }\n"
                        "w .env; w certs/site.pem; w src/main.c; w ../outside; w /etc/hosts\n"
                        "for f in *.key; do w \"$f\"; done\n"
                        "mv certs c2 2>/dev/null && echo moved\n"
                        "ls -A .. | tr '\\n' ' '\n");
  const auto line = run("policy -C app --format bwrap");
  ASSERT_EQ(line.status, 0) << line.err;
  home.write("line", line.out);
  const std::string script = "cd '" + home.path().string() +
                             "' && sed 's|-- COMMAND|-- sh ./try|' line >run && "
                             "bash run >out 2>err </dev/null";
  ASSERT_EQ(std::system(script.c_str()), 0) << test::read_file(home.path() / "err");
  EXPECT_EQ(test::read_file(home.path() / "out"), "src/main.c written\napp ");
  EXPECT_EQ(test::read_file(home.path() / "app/.env"), "secret");
  EXPECT_EQ(test::read_file(home.path() / "app/it's, \"odd\"\n.key"), "key");
}

// Each rule with its own word: what is protected cannot be written under piorch exec.
TEST_F(PolicyHolds, EveryRuleOfTheJson) {
  const auto json = nlohmann::json::parse(run("policy -C app --json").out);
  std::string script, expected;
  for (const auto& rule : json["rules"]) {
    if (rule["enforcedBy"] == "nothing")
      continue;
    const std::string access = rule["access"];
    std::string path = rule["path"], quoted = "'";
    for (const char c : path)
      quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
    quoted += "'";
    if (rule["enforcedBy"] == "guard" && access == "protect") {
      script += "mkdir -p \"$(dirname " + quoted + ")\"; (echo x >" + quoted +
                ") 2>/dev/null && echo made\necho guard\n";
      expected += "guard\n";
    } else if (access == "protect") {
      script += "(echo x >>" + quoted + ") 2>/dev/null && echo written; rm -rf " + quoted +
                " 2>/dev/null; [ -e " + quoted + " ] || echo removed\n";
      script += "echo protect\n";
      expected += "protect\n";
    } else if (access == "pin") {
      script += "mv " + quoted + " " + quoted + ".moved 2>/dev/null && echo moved\necho pin\n";
      expected += "pin\n";
    } else if (access == "write") {
      script += "touch " + quoted + "/new && echo write\n";
      expected += "write\n";
    } else if (access == "hide") {
      script += "touch " + quoted + "/new 2>/dev/null || echo hide\n";
      expected += "hide\n";
    } else {
      script += "[ -r " + quoted + " ] && echo read\n";
      expected += "read\n";
    }
  }
  for (const char* word : {"protect\n", "pin\n", "write\n", "hide\n", "guard\n"})
    EXPECT_NE(expected.find(word), std::string::npos) << word;
  home.write("app/script", script);
  const auto r = run("exec -C app -- sh ./script");
  EXPECT_EQ(r.out, expected) << r.err;
}

} // namespace
} // namespace piorch::cli
