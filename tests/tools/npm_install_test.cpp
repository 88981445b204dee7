// What tools/quickstart and tools/test say before they install something from npm.
#include "tests/tools/cli.hpp"

#include <gmock/gmock.h>

namespace piorch::cli {
namespace {

TEST(NpmInstall, SaysWhatAndWhereBeforeItDoes) {
  const config::temp_dir home;
  const auto at = home.path().string();
  home.write("manifest/package.json", R"({
  "name": "any",
  "dependencies": {
    "@example/agent": "1.2.3"
  },
  "devDependencies": {
    "helper": "^4.0.0"
  }
}
)");
  home.write("manifest/package-lock.json", "{}\n");
  const auto npm = home.write("bin/npm", "#!/bin/sh\necho npm runs\nmkdir node_modules\n");
  std::filesystem::permissions(npm, std::filesystem::perms::owner_all);
  const auto install = [&] {
    const auto line = "PATH='" + at +
                      "/bin':\"$PATH\" '" PIORCH_SOURCE_DIR "/tools/ci/npm-install' '" + at +
                      "/manifest' '" + at + "/into' 2>'" + at + "/said'";
    const int status = std::system(line.c_str());
    return std::pair(WEXITSTATUS(status), test::read_file(home.path() / "said"));
  };
  EXPECT_EQ(install(), std::pair(0, "manifest: installing from npm, into " + at +
                                        "/into (and npm's own cache): @example/agent 1.2.3, helper "
                                        "^4.0.0\nnpm runs\n"));
  EXPECT_EQ(install(), std::pair(3, std::string())) << "it is there already";
}

} // namespace
} // namespace piorch::cli
