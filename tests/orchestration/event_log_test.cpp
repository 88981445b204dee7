// The event log of a session and its readers: nothing is missing without a gap that says so.
#include "tests/orchestration/journal_fixture.hpp"

#include "orchestration/json_text.hpp"

#include <algorithm>
#include <csignal>
#include <random>
#include <sys/resource.h>

namespace piorch::orchestration {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

// Files of this process end at so many bytes, as on a disk that is full.
class file_size_limit {
public:
  explicit file_size_limit(rlim_t bytes) {
    ::signal(SIGXFSZ, SIG_IGN);
    ::getrlimit(RLIMIT_FSIZE, &old_);
    const rlimit tight{bytes, old_.rlim_max};
    EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &tight), 0);
  }
  ~file_size_limit() { EXPECT_EQ(::setrlimit(RLIMIT_FSIZE, &old_), 0); }
  file_size_limit(const file_size_limit&) = delete;
  file_size_limit& operator=(const file_size_limit&) = delete;

private:
  rlimit old_{};
};

struct EventLog : Journal {};

TEST_F(EventLog, WhatWasAppendedIsReadFromAnywhere) {
  auto j = open();
  auto log = j.create(document(1));
  ASSERT_TRUE(log);
  for (int i = 1; i <= 500; ++i) {
    const auto a = log->append(t0, text_event(i));
    EXPECT_EQ(a.event->seq, static_cast<std::uint64_t>(i));
    EXPECT_EQ(a.failed, "");
  }
  for (std::uint64_t from : {0u, 1u, 250u, 500u, 501u}) {
    auto r = j.follow(id_of(1), from);
    ASSERT_TRUE(r);
    const auto all = read_all(*r, 1000);
    expect_complete(all, from ? from : 1, 500);
    if (!all.empty()) {
      EXPECT_EQ(all[0]["event"]["delta"], std::to_string(from ? from : 1));
    }
  }
  auto r = j.follow(id_of(1), 501);
  EXPECT_TRUE(read_all(*r).empty());
  log->append(t0, text_event(501));
  EXPECT_EQ(read_all(*r).size(), 1u) << "a reader goes on where it was";
}

TEST_F(EventLog, TheBoundHoldsAndTheGapIsTold) {
  auto log = small_log(1, 100'000);
  ASSERT_TRUE(log);
  event_reader early(std::move(*file::open_directory(AT_FDCWD, root + "/" + id_of(1))), 1);
  std::vector<json> seen;
  std::mt19937 random(5);
  const int n = 5000;
  for (int i = 1; i <= n; ++i) {
    log->append(t0, text_event(i, random() % 400));
    if (i % 60 == 0)
      for (auto& e : read_all(early, 1 + random() % 3000))
        seen.push_back(std::move(e));
  }
  for (auto& e : read_all(early))
    seen.push_back(std::move(e));
  expect_complete(seen, 1, n);
  EXPECT_EQ(seen.size(), static_cast<std::size_t>(n)) << "a reader that keeps up misses nothing";
  std::uintmax_t bytes = 0;
  for (const auto& e : fs::directory_iterator(root + "/" + id_of(1)))
    if (e.path().extension() == ".jsonl")
      bytes += e.file_size();
  EXPECT_LE(bytes, 100'000u);
  EXPECT_GE(bytes, 50'000u);
  auto late = *open().follow(id_of(1), 3);
  const auto all = read_all(late);
  EXPECT_EQ(all[0]["event"]["type"], "gap");
  EXPECT_EQ(all[0]["time"], to_text(t0));
  expect_complete(all, 3, n);
}

TEST_F(EventLog, ASlowReaderGetsAGapOnceItsFileIsGone) {
  auto log = small_log(1, 20'000);
  ASSERT_TRUE(log);
  event_reader slow(std::move(*file::open_directory(AT_FDCWD, root + "/" + id_of(1))), 1);
  std::vector<json> seen;
  for (int i = 1; i <= 3000; ++i) {
    log->append(t0, text_event(i, 100));
    if (i % 1000 == 0)
      if (auto p = slow.next(500); p)
        for (const auto& e : *p)
          seen.push_back(json::parse(e->json));
  }
  for (auto& e : read_all(slow))
    seen.push_back(std::move(e));
  expect_complete(seen, 1, 3000);
}

TEST_F(EventLog, AFailedWriteIsToldAndLeavesAMarker) {
  auto log = small_log(1, 10 << 20);
  ASSERT_TRUE(log);
  for (int i = 1; i <= 10; ++i)
    EXPECT_EQ(log->append(t0, text_event(i, 60)).failed, "");
  int told = 0;
  {
    const file_size_limit in_the_middle_of_a_line(2000);
    for (int i = 11; i <= 30; ++i)
      told += log->append(t0, text_event(i, 60)).failed.empty() ? 0 : 1;
  }
  EXPECT_EQ(told, 1) << "once for a row of failures";
  for (int i = 31; i <= 40; ++i)
    EXPECT_EQ(log->append(t0, text_event(i, 60)).failed, "");
  auto r = *open().follow(id_of(1), 1);
  const auto all = read_all(r);
  expect_complete(all, 1, 40);
  EXPECT_EQ(std::count_if(all.begin(), all.end(),
                          [](const json& e) { return e["event"]["type"] == "gap"; }),
            1);
}

TEST_F(EventLog, WhatIsLostUntilTheEndIsToldAtTheEnd) {
  auto log = small_log(1, 10 << 20);
  ASSERT_TRUE(log);
  {
    const file_size_limit small(2000);
    for (int i = 1; i <= 40; ++i)
      log->append(t0, text_event(i, 60));
  }
  log->close(t0);
  EXPECT_EQ(*open().last_seq(id_of(1)), 40u);
  auto r = *open().follow(id_of(1), 1);
  const auto all = read_all(r);
  expect_complete(all, 1, 40);
  EXPECT_EQ(all.back()["event"]["type"], "gap");
}

} // namespace
} // namespace piorch::orchestration
