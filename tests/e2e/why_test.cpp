// `piorch why COMMAND`: what a command.run was refused, while it runs and after it.
#include "tests/e2e/session_fixture.hpp"

#include <gmock/gmock.h>

namespace piorch {
namespace {

using namespace std::chrono_literals;
using nlohmann::json;
using testing::HasSubstr;

class WhyCommand : public test::session_fixture {
protected:
  void SetUp() override {
    session_fixture::SetUp();
    if (rig)
      owner.emplace(rig->connect_private(serve, false));
  }
  void TearDown() override {
    owner.reset();
    if (serve > 0)
      ::waitpid(serve, nullptr, 0);
    session_fixture::TearDown();
  }

  pid_t serve = -1;
  std::optional<ipc::client> owner;
};

TEST_F(WhyCommand, SaysItWhileItRunsAndAfterwards) {
  ipc::command_run_params p;
  p.id = "mine";
  p.command = "mkdir -p .pi; echo x > .pi/settings.json; curl -s http://intranet/; "
              "until [ -e go ]; do sleep 0.1; done; exit 3";
  p.cwd = rig->workspace();
  const auto asked = owner->request(p);
  ASSERT_TRUE(owner->flush(ipc::client::clock::now() + 10s));
  std::string id;
  ASSERT_TRUE(rig->within(30s, [&] {
    auto list = owner->call(ipc::command_list_params{}, 20s);
    if (list && (*list)["commands"].size() == 1)
      id = (*list)["commands"][0].value("id", "");
    return !id.empty();
  }));
  EXPECT_EQ(id, std::to_string(serve) + "-c1");
  const auto listed = rig->json({"status"})["commands"];
  ASSERT_EQ(listed.size(), 1u) << listed;
  EXPECT_EQ(listed[0]["id"], id);
  EXPECT_THAT(rig->run({"completions", "--words", "--", "why", ""}).out,
              HasSubstr(id + "\tmkdir -p .pi"));

  const auto says = [&](const std::string& of) {
    const auto how = rig->run({"why", of});
    return how.out.find("network  intranet:80\n") != std::string::npos &&
           how.out.find(".pi/settings.json") != std::string::npos;
  };
  EXPECT_TRUE(rig->within(30s, [&] { return says(id); })) << rig->run({"why", id}).out;
  std::ofstream(rig->workspace() + "/go") << "";
  for (;;) {
    auto in = owner->receive(ipc::client::clock::now() + 30s);
    ASSERT_TRUE(in && in->what == ipc::client::incoming::kind::message);
    const auto answer = ipc::client::answer_to(asked, in->message);
    if (!answer)
      continue;
    ASSERT_TRUE(*answer) << answer->failed().text;
    EXPECT_EQ((**answer)["exitCode"], 3);
    const auto& refused = (**answer)["refusedPaths"];
    ASSERT_EQ(refused.size(), 1u) << **answer;
    EXPECT_THAT(refused[0]["path"].get<std::string>(), HasSubstr(".pi/settings.json"));
    break;
  }
  EXPECT_TRUE(says(id)) << "also when it has ended";
  EXPECT_TRUE(says("mine")) << "and by its client's id";
  const auto all = rig->json({"why", id})["refusals"];
  ASSERT_EQ(all.size(), 2u);
  for (const auto& one : all)
    EXPECT_NE(one["remedy"], "");

  const auto none = rig->run({"why", id + "0"});
  EXPECT_EQ(none.status, 3);
  EXPECT_THAT(none.err, HasSubstr("no command of that id"));
}

} // namespace
} // namespace piorch
