// The small pure pieces: instants, JSON text, ids and names, slots, handoff.
#include "orchestration/handoff.hpp"
#include "orchestration/instant.hpp"
#include "orchestration/json_text.hpp"
#include "orchestration/session_id.hpp"
#include "orchestration/slots.hpp"
#include "orchestration/worker_lines.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <random>

using namespace piorch;
using namespace piorch::orchestration;
using std::chrono::milliseconds;

TEST(Instant, WritesUtcMilliseconds) {
  EXPECT_EQ(to_text(instant{}), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(to_text(instant{milliseconds{951827696789}}), "2000-02-29T12:34:56.789Z");
  EXPECT_EQ(to_text(instant{milliseconds{-5}}), "1970-01-01T00:00:00.000Z");
  EXPECT_EQ(to_text(instant::max()), "9999-12-31T23:59:59.999Z");
}

TEST(Instant, ReadsBackWhatItWrites) {
  std::mt19937_64 random(1);
  for (int i = 0; i < 20000; ++i) {
    const instant t{milliseconds{static_cast<std::int64_t>(random() % 253402300800000u)}};
    ASSERT_EQ(instant_from(to_text(t)), t) << to_text(t);
  }
}

TEST(Instant, RefusesOtherForms) {
  for (auto bad :
       {"", "2000-02-30T00:00:00.000Z", "2000-02-29T24:00:00.000Z", "2000-02-29T00:00:00Z",
        "2000-02-29T00:00:00.000+", "2000-13-01T00:00:00.000Z", "1900-02-29T00:00:00.000Z",
        "2000-02-29t00:00:00.000Z", "2000-00-01T00:00:00.000Z"})
    EXPECT_FALSE(instant_from(bad)) << bad;
}

TEST(JsonText, BoundsDepthAndValues) {
  EXPECT_TRUE(parse("[[[1]]]", 3, 10));
  EXPECT_FALSE(parse("[[[1]]]", 2, 10));
  EXPECT_TRUE(parse("[1,2,3]", 3, 4));
  EXPECT_FALSE(parse("[1,2,3]", 3, 3));
  EXPECT_TRUE(parse(R"(["[[[[[,,,,,,,\"[[["])", 1, 2)) << "brackets in strings do not count";
  EXPECT_FALSE(parse(std::string(1 << 20, '['), 64, 1000));
  EXPECT_FALSE(parse("", 3, 3));
}

TEST(JsonText, ReadsHalvesOfSurrogatePairs) {
  // JavaScript writes a cut emoji like this; the line must not be lost.
  const auto j = parse(
      R"({"a":"x\ud83d","b":"\\ud83d","c":"\ud83d\ude00","d":"\ude00\ud83d\ud83d\ude00"})", 3, 10);
  ASSERT_TRUE(j);
  EXPECT_EQ((*j)["a"], "x\xef\xbf\xbd");
  EXPECT_EQ((*j)["b"], "\\ud83d");
  EXPECT_EQ((*j)["c"], "\xf0\x9f\x98\x80");
  EXPECT_EQ((*j)["d"], "\xef\xbf\xbd\xef\xbf\xbd\xf0\x9f\x98\x80");
}

TEST(JsonText, DumpsAnyBytes) { EXPECT_EQ(dump("a\xff\xfe"), "\"a\xef\xbf\xbd\xef\xbf\xbd\""); }

TEST(JsonText, TolerantMembers) {
  const auto j = parse(R"({"s":"x","n":-1,"b":1,"big":1e300,"o":null})", 3, 10);
  ASSERT_TRUE(j);
  EXPECT_EQ(string_at(*j, "s"), "x");
  EXPECT_EQ(string_at(*j, "n"), "");
  EXPECT_EQ(count_at(*j, "n"), 0u);
  EXPECT_FALSE(bool_at(*j, "b"));
  EXPECT_EQ(count_at(*j, "big"), 9'000'000'000'000'000u);
  EXPECT_EQ(string_at(member(*j, "o"), "deeper"), "");
}

TEST(JsonText, BoundedCutsBetweenCharactersAndSaysSo) {
  EXPECT_EQ(bounded("short", 100), "short");
  const std::string euros = [] {
    std::string s;
    for (int i = 0; i < 1000; ++i)
      s += "€";
    return s;
  }();
  for (std::size_t limit = 60; limit < 70; ++limit) {
    const auto cut = bounded(euros, limit);
    EXPECT_LE(escaped_bytes(cut), limit);
    EXPECT_EQ(dump(cut).size(), escaped_bytes(cut) + 2) << "nothing was cut in the middle";
    EXPECT_NE(cut.find("bytes left out]"), std::string::npos);
    const auto tail = bounded_tail(euros, limit);
    EXPECT_LE(escaped_bytes(tail), limit);
    EXPECT_EQ(dump(tail).size(), escaped_bytes(tail) + 2);
    EXPECT_EQ(tail.substr(tail.size() - 3), "€");
  }
  EXPECT_LE(escaped_bytes(bounded(std::string(5000, '\x01'), 1000)), 1000u);
}

TEST(WorkerLines, FramesWhateverTheChunks) {
  const std::string input = "one\ntwo\r\n\nfour\nrest";
  for (std::size_t chunk = 1; chunk <= input.size(); ++chunk) {
    worker_lines lines(100);
    std::vector<std::string> seen;
    for (std::size_t at = 0; at < input.size(); at += chunk)
      lines.feed(
          std::string_view(input).substr(at, chunk),
          [&](std::string_view l) { seen.emplace_back(l); }, [] { FAIL(); });
    EXPECT_EQ(seen, (std::vector<std::string>{"one", "two", "", "four"})) << chunk;
  }
}

TEST(WorkerLines, AnEndlessLineIsReportedOnceAndCostsNothing) {
  worker_lines lines(1000);
  int skipped = 0;
  std::vector<std::string> seen;
  const std::string flood(4096, 'x');
  const auto feed = [&](std::string_view b) {
    lines.feed(
        b, [&](std::string_view l) { seen.emplace_back(l); }, [&] { ++skipped; });
  };
  feed("first\n");
  for (int i = 0; i < 10000; ++i)
    feed(flood);
  EXPECT_EQ(skipped, 1);
  EXPECT_LE(lines.held_bytes(), 8192u);
  feed("the end of it\nnext\n");
  feed(std::string(1000, 'y') + "\n"); // exactly the limit
  EXPECT_EQ(skipped, 1);
  feed(std::string(1001, 'y') + "\n");
  EXPECT_EQ(skipped, 2);
  EXPECT_EQ(seen, (std::vector<std::string>{"first", "next", std::string(1000, 'y')}));
}

TEST(SessionId, SortsByTimeAndIsValid) {
  const auto a = make_session_id(instant{milliseconds{1000}},
                                 {255, 255, 255, 255, 255, 255, 255, 255, 255, 255});
  const auto b = make_session_id(instant{milliseconds{1001}}, {});
  EXPECT_LT(a, b);
  EXPECT_TRUE(is_session_id(a));
  EXPECT_EQ(a, "0000000003e8ffffffffffffffffffff");
  EXPECT_FALSE(is_session_id("../../etc/passwd-aaaaaaaaaaaaaaaaa"));
  EXPECT_FALSE(is_session_id(a.substr(1)));
}

TEST(SessionName, Rules) {
  for (auto good : {"a", "review", "fix-1.2_x", "beef", "cafe", "A9"})
    EXPECT_TRUE(check_session_name(good)) << good;
  for (auto bad : {"", "-x", ".x", "a b", "a/b", "0000ab", "caf\xc3\xa9", "a\n"})
    EXPECT_FALSE(check_session_name(bad)) << bad;
  EXPECT_TRUE(check_session_name(std::string(64, 'x')));
  EXPECT_FALSE(check_session_name(std::string(65, 'x')));
}

TEST(FindSession, IdNamePrefix) {
  const std::string a = "0001" + std::string(28, 'a'), b = "0001" + std::string(28, 'b'),
                    c = "0002" + std::string(28, 'c');
  const std::vector<session_entry> all{
      {a, "review", false}, {b, "review", true}, {c, "review", false}, {"x", "", true}};
  EXPECT_EQ(*find_session(all, a), a);
  EXPECT_EQ(*find_session(all, "review"), b) << "a live one before a younger ended one";
  EXPECT_EQ(*find_session({all[0], all[2]}, "review"), c) << "else the youngest";
  EXPECT_EQ(*find_session(all, "0002"), c);
  EXPECT_EQ(*find_session(all, "0001aa"), a);
  for (auto bad : {"0001", "000", "none", ""}) {
    const auto r = find_session(all, bad);
    ASSERT_FALSE(r) << bad;
    EXPECT_EQ(r.failed().code, failure::unknown_session);
  }
}

TEST(Slots, RefuseWithTheSentencesOfTheContract) {
  slots s;
  for (auto id : {"a", "b", "c"})
    EXPECT_EQ(*s.take(id, 0), 1u);
  EXPECT_EQ(*s.take("d", 2), 3u);
  const auto fifth = s.take("e", 0);
  ASSERT_FALSE(fifth);
  EXPECT_EQ(fifth.failed().code, failure::limit_reached);
  EXPECT_EQ(fifth.failed().text, "subagent concurrency limit reached (4)");
  const auto deep = s.take("e", 3);
  ASSERT_FALSE(deep);
  EXPECT_EQ(deep.failed().text, "subagent nesting depth limit reached (3)");
  s.tree_gone("d");
  s.tree_gone("d");
  EXPECT_EQ(*s.take("e", 1), 2u);
  EXPECT_FALSE(s.take("f", 0)) << "a slot freed twice is one slot";
}

TEST(Slots, OneIdIsOneSlot) {
  slots s;
  EXPECT_TRUE(s.take("a", 0));
  EXPECT_FALSE(s.take("a", 0));
  EXPECT_EQ(s.taken(), 1u);
}

TEST(Handoff, CarriesTheParentsText) {
  EXPECT_EQ(handoff_task(" \n", "go"), "go");
  const auto t = handoff_task("result", "go");
  EXPECT_LT(t.find("result\n</previous-result>"), t.find("Your task:\ngo"));
}
