// What of a Node.js or Pi installation in the home a sandbox sees.
#include "sandbox/runtimes.hpp"
#include "tests/support/workspace.hpp"

#include <filesystem>
#include <gmock/gmock.h>

namespace piorch::sandbox {
namespace {

namespace fs = std::filesystem;
using test::write_file;
using testing::ElementsAre;
using testing::IsEmpty;

class SandboxRuntimes : public testing::Test {
protected:
  std::string at(const std::string& name) const { return fs::canonical(base.path()) / name; }
  void program(const std::string& name) const {
    write_file(at(name), "");
    fs::permissions(at(name), fs::perms::owner_all);
  }
  void link(const std::string& name, const std::string& to) const {
    fs::create_directories(fs::path(at(name)).parent_path());
    fs::create_symlink(to, at(name));
  }
  std::vector<std::string> shown(const std::string& search_path) const {
    std::vector<std::string> out;
    for (const runtime_path& r : find_runtimes(search_path, at("work"), {at("home")})) {
      EXPECT_NE(r.reason, "") << r.path;
      out.push_back(r.path);
    }
    return out;
  }

  test::temp_dir base;
};

TEST_F(SandboxRuntimes, AnUnpackedDistributionWhole) {
  program("home/.nvm/versions/node/v24/bin/node");
  write_file(at("home/.nvm/versions/node/v24/include/node/node.h"), "");
  EXPECT_THAT(shown(at("home/.nvm/versions/node/v24/bin")),
              ElementsAre(at("home/.nvm/versions/node/v24/bin/node"),
                          at("home/.nvm/versions/node/v24/include/node")))
      << "other prefixes have such a file too";
  write_file(at("home/.nvm/versions/node/v24/CHANGELOG.md"), "");
  EXPECT_THAT(shown(at("home/.nvm/versions/node/v24/bin")),
              ElementsAre(at("home/.nvm/versions/node/v24")));
}

TEST_F(SandboxRuntimes, OfAnotherPrefixOnlyWhatBelongsToNode) {
  program("home/.local/bin/node");
  program("home/.local/bin/npm");
  write_file(at("home/.local/lib/node_modules/npm/package.json"), "");
  write_file(at("home/.local/share/keyrings/login"), "");
  EXPECT_THAT(shown(at("home/.local/bin")),
              ElementsAre(at("home/.local/bin/node"), at("home/.local/lib/node_modules"),
                          at("home/.local/bin/npm")));
}

// ~ itself as the prefix: ~/bin/node.
TEST_F(SandboxRuntimes, APrefixThatHoldsTheHomeIsNotShown) {
  program("home/bin/node");
  write_file(at("home/include/node/node.h"), "");
  write_file(at("home/CHANGELOG.md"), "");
  EXPECT_THAT(shown(at("home/bin")), ElementsAre(at("home/bin/node")));
}

TEST_F(SandboxRuntimes, PisPackageWithItsDependenciesAndTheLinkThatLeadsThere) {
  const std::string package = "lib/node_modules/bundle/node_modules/@example/pi-coding-agent";
  program("home/npm/" + package + "/dist/cli.js");
  link("home/npm/bin/pi", "../" + package + "/dist/cli.js");
  EXPECT_THAT(shown(at("home/npm/bin")),
              ElementsAre(at("home/npm/lib/node_modules"), at("home/npm/bin/pi")));
  // A program of that name which is not Pi's shows nothing of what lies around it.
  program("home/other/node_modules/mine/pi");
  EXPECT_THAT(shown(at("home/other/node_modules/mine")), IsEmpty());
}

TEST_F(SandboxRuntimes, NothingOfTheWorkspaceCounts) {
  program("work/bin/node");
  link("home/links/node", at("work/bin/node"));
  EXPECT_THAT(shown(at("work/bin") + ":" + at("home/links") + ":relative:"), IsEmpty());
}

} // namespace
} // namespace piorch::sandbox
