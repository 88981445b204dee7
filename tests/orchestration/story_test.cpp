#include "orchestration/story.hpp"

#include <gmock/gmock.h>
#include <nlohmann/json.hpp>

#include <regex>

namespace piorch::orchestration {
namespace {

using nlohmann::json;
using testing::HasSubstr;
using testing::Not;

constexpr instant now{std::chrono::milliseconds{1'795'984'418'711}};

json numbered(json event) {
  return {{"seq", 1}, {"time", "2026-01-01T00:00:00.000Z"}, {"event", std::move(event)}};
}

session_document document() {
  session_document d;
  d.id = std::string(32, '1');
  d.state = session_state::stopped;
  d.created_at = d.updated_at = now - std::chrono::seconds(5);
  d.task = "look";
  d.text = "done";
  return d;
}

// One of each kind, with `word` wherever foreign text can stand.
std::vector<json> every_event(const std::string& word) {
  const json fact{{"host", word},   {"port", 1},    {"decision", "deny"},
                  {"source", word}, {"path", word}, {"rule", word}};
  return {{{"type", "task"}, {"task", 1}, {"text", word}},
          {{"type", "message"}, {"text", word}, {"stopReason", word}, {"error", word}},
          {{"type", "toolStart"}, {"tool", word}, {"arguments", {{word, word}}}},
          {{"type", "toolStart"}, {"tool", word}, {"arguments", {{"a", word}, {word, 2}}}},
          {{"type", "toolEnd"}, {"tool", word}, {"isError", true}, {"output", word}},
          {{"type", "retry"}, {"error", word}},
          {{"type", "answer"}, {"task", 1}, {"error", word}},
          {{"type", "network"}, {"fact", fact}},
          {{"type", "refusedFile"}, {"fact", fact}},
          {{"type", "warning"}, {"text", word}},
          {{"type", "gap"}, {"from", 1}, {"to", 2}, {"reason", word}},
          {{"type", "state"}, {"state", "failed"}, {"error", word}}};
}

std::string whole(session_document d, const std::vector<json>& events, story_format format) {
  auto out = story_head(d, format, now);
  for (const auto& e : events) {
    const auto text = story_event(numbered(e), format);
    EXPECT_NE(text, "") << e;
    out += text;
  }
  return out + story_tail(d, format);
}

TEST(Story, AsText) {
  const auto text =
      whole(document(),
            {{{"type", "task"}, {"task", 1}, {"text", "look"}},
             {{"type", "toolStart"}, {"tool", "bash"}, {"arguments", {{"command", "ls"}}}},
             {{"type", "toolEnd"}, {"tool", "bash"}, {"output", "a\nb\n"}, {"durationMs", 7}},
             {{"type", "refusedFile"}, {"fact", {{"path", ".git"}, {"rule", "r"}}}},
             {{"type", "message"}, {"text", "done"}}},
            story_format::text);
  EXPECT_THAT(text,
              HasSubstr("\nTask 1\n    look\nCalls bash\n    ls\nbash took 7 ms\n    a\n    b\n"
                        "Path refused: .git (r)\nWorker\n    done\nResult\n    done\n"));
}

TEST(Story, AnAnswerOfAnEarlierTaskIsNotTheEndOfALaterOne) {
  auto d = document();
  for (const auto format : {story_format::text, story_format::html})
    for (const auto state : {session_state::starting, session_state::running}) {
      d.state = state;
      const auto tail = story_tail(d, format);
      EXPECT_THAT(tail, HasSubstr("The newest task has no answer yet"));
      EXPECT_THAT(tail, Not(HasSubstr("Result")));
      EXPECT_THAT(tail, Not(HasSubstr("done")));
    }
  d.state = session_state::idle;
  EXPECT_EQ(story_tail(d, story_format::text), "Result\n    done\n");
}

TEST(Story, StreamedTextAndStatesBetweenAreNoPartOfIt) {
  for (const json& e :
       {json{{"type", "text"}, {"delta", "x"}}, json{{"type", "state"}, {"state", "running"}},
        json{{"type", "answer"}, {"task", 1}, {"text", "x"}}, json{{"type", "of a later version"}},
        json(7)})
    EXPECT_EQ(story_event(numbered(e), story_format::text), "") << e;
}

TEST(Story, NoForeignWordBecomesMarkup) {
  const std::string word = "</pre><script>alert(1)</script><img src=x onerror='a'>\"&<!--";
  auto d = document();
  d.name = d.task = d.text = d.error = d.cwd = d.model = word;
  const auto page = whole(d, every_event(word), story_format::html);
  const auto plain = whole(document(), every_event("word"), story_format::html);
  // Exactly our own tags are left, and none of them has more than a class.
  const std::regex tag("<[^>]*>");
  const std::regex ours(
      "<(/?(html|head|body|title|style|h1|h2|pre|section|time)|!DOCTYPE html|html lang=\"en\"|meta "
      "[^<>]*|section class=\"[a-z]+\")>");
  std::size_t tags = 0;
  for (std::sregex_iterator i(page.begin(), page.end(), tag), end; i != end; ++i, ++tags)
    EXPECT_TRUE(std::regex_match(i->str(), ours)) << i->str();
  EXPECT_GT(tags, 60u);
  for (const char* bad : {"<script", "<img", "<!--", "http:", "https:", "url(", "@import"})
    EXPECT_THAT(page, Not(HasSubstr(bad)));
  EXPECT_THAT(page, HasSubstr("&lt;script&gt;alert(1)"));
  EXPECT_THAT(plain, HasSubstr("default-src 'none'"));
}

TEST(Story, NoControlCharacterIsLeft) {
  const std::string word = "\x1b[2J\x07\r\x7f\xc2\x9b"
                           "1m\u202e\nTask 9";
  auto d = document();
  d.name = d.task = d.text = d.error = d.cwd = d.model = word;
  for (const auto format : {story_format::text, story_format::html}) {
    const auto out = whole(d, every_event(word), format);
    for (const char* bad : {"\x1b", "\x07", "\r", "\x7f", "\xc2\x9b", "\u202e"})
      EXPECT_THAT(out, Not(HasSubstr(bad)));
    if (format == story_format::text) { // nor looks text like a heading of ours
      EXPECT_THAT(out.substr(out.find("Task 1\n")), Not(HasSubstr("\nTask 9")));
    }
  }
}

TEST(Story, TheFormats) {
  EXPECT_EQ(story_format_from("html"), story_format::html);
  EXPECT_EQ(story_format_from("text"), story_format::text);
  EXPECT_FALSE(story_format_from("pdf"));
}

} // namespace
} // namespace piorch::orchestration
