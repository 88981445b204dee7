#include "orchestration/worker_launch.hpp"

#include "tests/support/temp_dir.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <fstream>

using namespace piorch;
using namespace piorch::orchestration;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
namespace fs = std::filesystem;

namespace {

void program(const fs::path& p) {
  fs::create_directories(p.parent_path());
  std::ofstream(p) << "#!/bin/sh\n";
  fs::permissions(p, fs::perms::owner_all);
}

// As npm installs it: bin/pi is a link into the package.
void install_pi(const fs::path& prefix, bool with_bundle = true) {
  const auto package = prefix / "lib/node_modules/pi";
  program(package / "dist/cli.js");
  if (with_bundle)
    program(package / "dist/bundle/cli.js");
  std::ofstream(package / "package.json") << "{}";
  program(prefix / "bin/node");
  fs::create_symlink("../lib/node_modules/pi/dist/cli.js", prefix / "bin/pi");
}

const pi_installation some_pi{"/opt/node/bin/node", "/opt/pi/dist/bundle/cli.js", "/opt/pi"};

} // namespace

TEST(FindPi, TakesTheBundleOfTheResolvedPackage) {
  test::temp_dir tmp;
  const auto root = fs::canonical(tmp.path());
  install_pi(root / "a");
  const auto found = find_pi("relative:::" + (root / "a/bin").string(), {});
  ASSERT_TRUE(found) << found.failed().text;
  EXPECT_EQ(found->node, root / "a/bin/node");
  EXPECT_EQ(found->package, root / "a/lib/node_modules/pi");
  EXPECT_EQ(found->cli, root / "a/lib/node_modules/pi/dist/bundle/cli.js");
}

TEST(FindPi, WithoutABundleTheProgramItself) {
  test::temp_dir tmp;
  const auto root = fs::canonical(tmp.path());
  install_pi(root, false);
  EXPECT_EQ(find_pi((root / "bin").string(), {})->cli, root / "lib/node_modules/pi/dist/cli.js");
}

TEST(FindPi, NothingFromThePlacesAWorkerCanWrite) {
  test::temp_dir tmp;
  const auto root = fs::canonical(tmp.path());
  install_pi(root / "workspace/node_modules");
  install_pi(root / "safe");
  const auto evil = (root / "workspace/node_modules/bin").string();
  // A directory outside whose program is a link into the workspace.
  fs::create_directories(root / "links");
  fs::create_symlink(root / "workspace/node_modules/bin/node", root / "links/node");
  fs::create_symlink(root / "workspace/node_modules/bin/pi", root / "links/pi");
  // A link to a directory in the workspace.
  fs::create_directory_symlink(evil, root / "bin-link");
  const std::vector<std::string> untrusted{root / "workspace"};
  const auto path = evil + ":" + (root / "links").string() + ":" + (root / "bin-link").string();
  const auto none = find_pi(path, untrusted);
  ASSERT_FALSE(none);
  EXPECT_EQ(none.failed().code, failure::sandbox_unavailable);
  EXPECT_THAT(none.failed().text, HasSubstr("Node.js"));
  const auto found = find_pi(path + ":" + (root / "safe/bin").string(), untrusted);
  ASSERT_TRUE(found);
  EXPECT_EQ(found->node, root / "safe/bin/node");
  // A name that only begins alike is another directory.
  fs::create_directories(root / "workspace-two");
  install_pi(root / "workspace-two");
  EXPECT_TRUE(find_pi((root / "workspace-two/bin").string(), untrusted));
}

TEST(FindPi, SaysHowToGetPi) {
  test::temp_dir tmp;
  program(tmp.path() / "node");
  const auto r = find_pi(tmp.path().string(), {});
  ASSERT_FALSE(r);
  EXPECT_THAT(r.failed().text, HasSubstr("npm install -g @earendil-works/pi-coding-agent"));
}

TEST(WorkerLaunch, Words) {
  auto l = make_worker_launch(some_pi, {}, {});
  ASSERT_TRUE(l);
  EXPECT_THAT(l->argv,
              ElementsAre(some_pi.node, some_pi.cli, "--mode", "rpc", "--no-session", "-ne"));
  worker_wish wish;
  wish.model = "fake/scripted:high";
  wish.tools = {"read", "bash"};
  l = make_worker_launch(some_pi, {}, wish);
  ASSERT_TRUE(l);
  EXPECT_THAT(l->argv, ElementsAre(some_pi.node, some_pi.cli, "--mode", "rpc", "--no-session",
                                   "-ne", "--model", "fake/scripted:high", "--tools", "read,bash"));
}

TEST(WorkerLaunch, NoOptionsInDisguise) {
  for (const char* bad : {"-e", "--extension=/x", "@file", "a b", "a\nb"}) {
    worker_wish wish;
    wish.model = bad;
    EXPECT_FALSE(make_worker_launch(some_pi, {}, wish)) << bad;
    wish.model.clear();
    wish.tools = {bad};
    EXPECT_FALSE(make_worker_launch(some_pi, {}, wish)) << bad;
  }
  worker_wish wish;
  wish.tools = std::vector<std::string>{};
  EXPECT_FALSE(make_worker_launch(some_pi, {}, wish));
  wish.tools = {"read,bash"};
  EXPECT_FALSE(make_worker_launch(some_pi, {}, wish));
}

TEST(WorkerLaunch, EnvironmentWithoutTheHostsOwn) {
  worker_wish wish;
  wish.environment = {{"LANG", "C"},
                      {"NODE_OPTIONS", "--require /evil"},
                      {"PI_CODING_AGENT_DIR", "/home/u/.pi"},
                      {"LD_PRELOAD", "/x.so"},
                      {"BASH_ENV", "/x"},
                      {"PIORCH_SOCKET", "/s"},
                      {"OPENAI_API_KEY", "k"},
                      {"PI_OFFLINE", "0"},
                      {"PATH", "/usr/bin"}};
  wish.compile_cache = "/var/cache/warm";
  const auto l = make_worker_launch(some_pi, {}, wish);
  ASSERT_TRUE(l);
  EXPECT_THAT(l->environment, ElementsAre("LANG=C", "NODE_COMPILE_CACHE=/var/cache/warm",
                                          "OPENAI_API_KEY=k", "PATH=/usr/bin", "PI_OFFLINE=1"));
  EXPECT_THAT(l->readable, ElementsAre(some_pi.node, some_pi.package, "/var/cache/warm"));
}

TEST(WorkerLaunch, AgentFiles) {
  agent_settings user;
  user.settings_json =
      R"({"defaultProvider":"fake","defaultModel":"m","packages":["../evil"],"httpProxy":"http://x","extensions":["a"]})";
  user.models_json = R"({"providers":{"fake":{"baseUrl":"http://127.0.0.1:9/v1"}}})";
  const auto l = make_worker_launch(some_pi, user, {});
  ASSERT_TRUE(l);
  ASSERT_EQ(l->agent_files.size(), 2u);
  EXPECT_EQ(l->agent_files[0].text, "{\"defaultModel\":\"m\",\"defaultProvider\":\"fake\"}\n");
  EXPECT_EQ(l->agent_files[1].text, user.models_json + "\n");
  ASSERT_EQ(l->providers.size(), 1u);
  EXPECT_EQ(l->providers[0].port, 9);
  EXPECT_EQ(minimal_settings("not json"), "{}\n");
  EXPECT_EQ(minimal_settings("{\"defaultModel\":7}"), "{}\n");
}

TEST(WorkerLaunch, OfCredentialsOnlyThoseOfItsProvider) {
  agent_settings user;
  user.settings_json = R"({"defaultProvider":"b"})";
  user.auth_json = R"({"a":{"key":"ka"},"b":{"key":"kb"},"router":{"key":"kr"}})";
  user.models_json = R"({"providers":{"a":{"apiKey":"ma"},"local":{"apiKey":"ml"}}})";
  const auto for_model = [&](const char* model) {
    const auto out = only_provider(user, model);
    return out.auth_json + out.models_json;
  };
  EXPECT_EQ(for_model("a/x"),
            "{\"a\":{\"key\":\"ka\"}}\n{\"providers\":{\"a\":{\"apiKey\":\"ma\"}}}\n");
  EXPECT_EQ(for_model("local/x:high"), "{}\n{\"providers\":{\"local\":{\"apiKey\":\"ml\"}}}\n");
  EXPECT_EQ(for_model(""), "{\"b\":{\"key\":\"kb\"}}\n{\"providers\":{}}\n") << "the default one";
  // Whose it is, is not certain: all.
  const auto all = user.auth_json + user.models_json;
  EXPECT_EQ(for_model("anthropic/opus"), all) << "it may be the router's";
  EXPECT_EQ(for_model("a"), all) << "a pattern";
  user.auth_json = "// not JSON";
  EXPECT_EQ(only_provider(user, "a/x").auth_json, user.auth_json) << "Pi says so itself";
}

// The same question as above: a worker whose file has a key has its variables, too.
TEST(WorkerProvider, OnesThatMayBeAsked) {
  agent_settings user;
  user.settings_json = R"({"defaultProvider":"router"})";
  user.auth_json = R"({"a":{"key":"ka"}})";
  user.models_json = R"({"providers":{"local":{}}})";
  using names = std::set<std::string>;
  const auto of = [&](const char* model) { return providers_for(model, user).names; };
  EXPECT_EQ(of("a/x"), names{"a"});
  EXPECT_EQ(of("local/x:high"), names{"local"});
  EXPECT_EQ(of("sonnet"), (names{"a", "local", "router"})) << "a pattern";
  EXPECT_EQ(of("anthropic/opus"), (names{"a", "anthropic", "local", "router"}))
      << "it may be the router's";
  EXPECT_EQ(of(""), (names{"a", "local", "router"})) << "not in the files: Pi may take another";
  user.auth_json = R"({"router":{}})";
  EXPECT_EQ(of(""), names{"router"});
  user.auth_json = user.models_json = user.settings_json = "no JSON";
  EXPECT_EQ(of("x/y"), names{"x"});
  EXPECT_EQ(of(""), names{});
}

TEST(AgentSettings, ReadsWhatIsThere) {
  test::temp_dir tmp;
  std::ofstream(tmp / "settings.json") << "{}";
  std::ofstream(tmp / "real.json") << "{\"a\":1}";
  fs::create_symlink("real.json", tmp / "auth.json");
  const auto s = read_agent_settings(tmp.path().string());
  ASSERT_TRUE(s) << s.failed().text;
  EXPECT_EQ(s->settings_json, "{}");
  EXPECT_EQ(s->auth_json, "{\"a\":1}");
  EXPECT_EQ(s->models_json, "");
  EXPECT_TRUE(read_agent_settings("/nonexistent"));
  std::ofstream(tmp / "models.json") << std::string(5u << 20, 'x');
  EXPECT_FALSE(read_agent_settings(tmp.path().string())) << "too long to be one";
  fs::remove(tmp / "models.json");
  fs::create_symlink("gone", tmp / "models.json");
  EXPECT_TRUE(read_agent_settings(tmp.path().string()));
}
