// Commands of `piorch exec` in a small project, under the create guard.
#pragma once

#include "tests/tools/cli.hpp"

#include <filesystem>
#include <gmock/gmock.h>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace piorch::cli {

namespace fs = std::filesystem;

class GuardedExec : public Cli {
protected:
  GuardedExec() {
    home.write("app/src/main.c", "int main;\n");
    home.write("app/config/web/.env", "secret\n");
    home.write("app/config/web/site.conf", "x\n");
    app = home.path() / "app";
  }

  // `script` by bash in app, with an identity for Git.
  outcome in_sandbox(const std::string& script) const {
    home.write("script", "export GIT_AUTHOR_NAME=n GIT_AUTHOR_EMAIL=n@example.org "
                         "GIT_COMMITTER_NAME=n GIT_COMMITTER_EMAIL=n@example.org\n" +
                             script);
    return run("exec -C app --report \"$PWD/report\" -c \"$(cat script)\"", "timeout 120 env");
  }
  // "path: rule" of each refusal in the report, the path relative to app where it is below.
  std::vector<std::string> refusals() const {
    std::vector<std::string> out;
    const std::string base = fs::canonical(app).string() + "/";
    const auto report = nlohmann::json::parse(test::read_file(home.path() / "report"));
    for (const auto& r : report["refusedPaths"]) {
      std::string path = r["path"];
      if (path.compare(0, base.size(), base) == 0)
        path.erase(0, base.size());
      out.push_back(path + ": " + r["rule"].get<std::string>());
    }
    return out;
  }
  void expect_works(const std::string& script) const {
    const auto r = in_sandbox("set -e\n" + script + "\necho finished");
    EXPECT_EQ(r.status, 0) << script << "\n" << r.out << r.err;
    EXPECT_THAT(r.out, testing::HasSubstr("finished"));
    EXPECT_THAT(refusals(), testing::IsEmpty()) << script;
  }

  fs::path app;
};

} // namespace piorch::cli
