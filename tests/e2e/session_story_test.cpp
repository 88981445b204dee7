// What a session leaves for people: why something was refused, and its story.
#include "tests/e2e/session_fixture.hpp"

#include <gmock/gmock.h>

namespace piorch {
namespace {

using testing::HasSubstr;
using testing::Not;

class SessionStory : public test::session_fixture {};

TEST_F(SessionStory, WhyNamesTheRuleAndTheLineForFilesAndConnections) {
  const auto git = std::system(("git init -q '" + rig->workspace() + "'").c_str());
  ASSERT_EQ(git, 0);
  const auto begun = rig->run(
      {"start", "-d", "--name", "curious",
       "#bash mkdir -p .git/hooks; echo x > .git/hooks/post-commit; git config core.pager x; curl "
       "-sS https://www.example.org/ http://localhost:5432/; true"});
  ASSERT_EQ(begun.status, 0) << begun.err;
  ASSERT_EQ(rig->run({"wait", "curious"}).status, 0);
  const auto live = rig->run({"why", "curious"});
  EXPECT_EQ(live.status, 0) << live.err;
  EXPECT_THAT(live.out, HasSubstr("network  www.example.org:443"));
  EXPECT_THAT(live.out, HasSubstr("    refused: no rule speaks of it, and nobody could be asked "
                                  "(piorch help approvals)\n"));
  EXPECT_THAT(live.out, HasSubstr("\"network\": {\"allowedDomains\":[\"www.example.org:443\"]}"));
  EXPECT_THAT(live.out, HasSubstr((rig->root() / "home/.pi/agent/extensions/pi-sandbox").string()));
  EXPECT_THAT(live.out, HasSubstr("file  " + rig->workspace() + "/.git/"));
  // The same when it has ended, by the beginning of its id, and for programs.
  const auto id = rig->line(begun.out);
  ASSERT_EQ(rig->run({"stop", "curious"}).status, 0);
  EXPECT_EQ(rig->run({"why", id.substr(0, 12)}).out, live.out);
  const auto found = rig->json({"why", id})["refusals"];
  ASSERT_GE(found.size(), 2u);
  for (const auto& one : found)
    EXPECT_EQ(one["kind"] == "file", one["setting"].is_null()) << one;
  // The line does what it says.
  const auto first = std::find_if(found.begin(), found.end(),
                                  [](const auto& one) { return one["kind"] == "network"; });
  ASSERT_NE(first, found.end());
  rig->configure("{" + (*first)["setting"].get<std::string>() + "}");
  EXPECT_THAT(rig->run({"why", id}).out, HasSubstr("the configuration allows it by now"));
}

TEST_F(SessionStory, WhyWithoutAnything) {
  const auto id = start_idle("tame");
  EXPECT_THAT(rig->run({"why", "tame"}).out,
              HasSubstr("nothing was refused to session " + id + " "));
  EXPECT_EQ(rig->json({"why", id})["refusals"].size(), 0u);
  const auto unknown = rig->run({"why", "ffffffff"});
  EXPECT_EQ(unknown.status, 3);
  EXPECT_EQ(unknown.out, "");
  EXPECT_EQ(std::count(unknown.err.begin(), unknown.err.end(), '\n'), 1) << unknown.err;
  const auto nowhere = rig->run({"why", "./nowhere.json"});
  EXPECT_EQ(nowhere.status, 2);
  EXPECT_THAT(nowhere.err, HasSubstr("No such file or directory"));
  EXPECT_THAT(rig->run({"why", "note.txt/"}).err, HasSubstr("cannot read"));
  EXPECT_THAT(rig->run({"why", "./note.txt"}).err, HasSubstr("no report"));
}

TEST_F(SessionStory, WhyOfAReport) {
  ASSERT_EQ(rig->run({"exec", "--report", "report.json", "-c",
                      "curl -sS http://www.example.org/; mkdir .vscode; true"})
                .status,
            0);
  const auto why = rig->run({"why", "report.json"});
  EXPECT_EQ(why.status, 0) << why.err;
  EXPECT_THAT(why.out, HasSubstr("network  www.example.org:80"));
  EXPECT_THAT(why.out, HasSubstr("file  " + rig->workspace() + "/.vscode"));
}

TEST_F(SessionStory, AsTextAndAsAPage) {
  const std::string hostile = "<script>alert(1)</script>\\033[2J";
  const auto begun =
      rig->run({"start", "-d", "#bash printf '" + hostile + "'; mkdir .vscode; true"});
  ASSERT_EQ(begun.status, 0) << begun.err;
  const auto id = rig->line(begun.out);
  ASSERT_EQ(rig->run({"wait", id}).status, 0);
  ASSERT_EQ(rig->run({"stop", id}).status, 0);
  const auto text = rig->run({"result", "--format", "text", id});
  EXPECT_EQ(text.status, 0) << text.err;
  EXPECT_THAT(text.out, HasSubstr("session   " + id));
  EXPECT_THAT(text.out, HasSubstr("\nTask 1\n    #bash printf"));
  EXPECT_THAT(text.out, HasSubstr("\nCalls bash\n    printf"));
  EXPECT_THAT(text.out,
              HasSubstr("\nPath refused: " + rig->workspace() + "/.vscode (protected path)\n"));
  EXPECT_THAT(text.out, HasSubstr("\nThe session has stopped\n"));
  EXPECT_THAT(text.out, HasSubstr("\nResult\n    <script>alert(1)</script>"));
  EXPECT_THAT(text.out, Not(HasSubstr("\033")));
  const auto page = rig->run({"result", "--format", "html", id});
  EXPECT_EQ(page.status, 0) << page.err;
  EXPECT_THAT(page.out, testing::StartsWith("<!DOCTYPE html>"));
  EXPECT_THAT(page.out, testing::EndsWith("</html>\n"));
  EXPECT_THAT(page.out, HasSubstr("&lt;script&gt;"));
  EXPECT_THAT(page.out, Not(HasSubstr("<script")));
  EXPECT_THAT(page.out, Not(HasSubstr("\033")));
  // The default stays the text alone.
  EXPECT_EQ(rig->run({"result", id}).out.find("Task"), std::string::npos);
  EXPECT_EQ(rig->run({"result", "--format", "pdf", id}).status, 2);
  EXPECT_EQ(rig->run({"result", "--format", "text", "--json", id}).status, 2);
}

} // namespace
} // namespace piorch
