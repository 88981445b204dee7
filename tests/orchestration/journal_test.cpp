// The event log, its reader and the journal, on a real file system.
#include "orchestration/journal.hpp"

#include "orchestration/json_text.hpp"
#include "orchestration/session_events.hpp"
#include "tests/support/temp_dir.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

#include <algorithm>
#include <csignal>
#include <fcntl.h>
#include <fstream>
#include <random>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

using namespace piorch;
using namespace piorch::orchestration;
using nlohmann::json;
namespace fs = std::filesystem;
using std::chrono::hours;
using std::chrono::milliseconds;

namespace {

constexpr instant t0{milliseconds{1'795'984'418'711}};

std::string id_of(int n) {
  std::string s = std::to_string(n);
  return std::string(32 - s.size(), '0') + s;
}

session_document document(int n, session_state s = session_state::running) {
  session_document d;
  d.id = id_of(n);
  d.state = s;
  d.created_at = d.updated_at = t0;
  if (!is_live(s))
    d.ended_at = t0;
  return d;
}

std::string text_event(int n, std::size_t size = 0) {
  return session_events::text(std::to_string(n) + std::string(size, 'x'));
}

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

struct Journal : ::testing::Test {
  test::temp_dir tmp;
  std::string root = tmp / "state/piorch/sessions";

  journal open() {
    auto j = journal::open(root);
    EXPECT_TRUE(j) << j.failed().text;
    return std::move(*j);
  }
  result<event_log> small_log(int n, std::size_t limit) {
    fs::create_directories(root + "/" + id_of(n));
    return event_log::open(std::move(*file::open_directory(AT_FDCWD, root + "/" + id_of(n))), 1,
                           limit);
  }
  std::vector<json> read_all(event_reader& r, std::size_t page = limits::event_batch_bytes) {
    std::vector<json> out;
    for (;;) {
      auto p = r.next(page);
      EXPECT_TRUE(p) << p.failed().text;
      if (!p || p->empty())
        return out;
      for (const auto& e : *p) {
        out.push_back(json::parse(e->json));
        EXPECT_EQ(out.back()["seq"], e->seq);
      }
    }
  }
  // Every number is there once, in order, or inside a gap that says so.
  static void expect_complete(const std::vector<json>& events, std::uint64_t from,
                              std::uint64_t to) {
    auto next = from;
    for (const auto& e : events) {
      if (e["event"]["type"] == "gap") {
        ASSERT_EQ(e["event"]["from"], next);
        next = e["event"]["to"].get<std::uint64_t>() + 1;
      } else {
        ASSERT_EQ(e["seq"], next);
        ++next;
      }
    }
    ASSERT_EQ(next, to + 1);
  }
};

} // namespace

TEST_F(Journal, FilesArePrivate) {
  const auto old = ::umask(0);
  auto j = open();
  auto log = j.create(document(1));
  ASSERT_TRUE(log);
  log->append(t0, text_event(1));
  ASSERT_TRUE(log->keep_stderr("x"));
  ::umask(old);
  for (const auto& e : fs::recursive_directory_iterator(tmp.path())) {
    struct stat st;
    ASSERT_EQ(::lstat(e.path().c_str(), &st), 0);
    EXPECT_EQ(st.st_mode & 0777, e.is_directory() ? 0700u : 0600u) << e.path();
  }
}

TEST_F(Journal, WhatWasAppendedIsReadFromAnywhere) {
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

TEST_F(Journal, TheBoundHoldsAndTheGapIsTold) {
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

TEST_F(Journal, ASlowReaderGetsAGapOnceItsFileIsGone) {
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

TEST_F(Journal, AFailedWriteIsToldAndLeavesAMarker) {
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

TEST_F(Journal, WhatIsLostUntilTheEndIsToldAtTheEnd) {
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

TEST_F(Journal, TheDocumentIsReplacedAsAWhole) {
  auto j = open();
  auto d = document(1);
  auto log = j.create(d);
  ASSERT_TRUE(log);
  d.text = std::string(100'000, 't');
  d.state = session_state::idle;
  ASSERT_TRUE(log->keep(d));
  const auto read = j.read(id_of(1));
  ASSERT_TRUE(read);
  EXPECT_EQ(read->text, d.text) << "whole";
  EXPECT_TRUE(j.ended().empty()) << "it lives";
  d.state = session_state::stopped;
  ASSERT_TRUE(log->keep(d));
  ASSERT_EQ(j.ended().size(), 1u);
  EXPECT_LE(j.ended()[0].text.size(), limits::status_text_bytes) << "cut in lists";
  EXPECT_EQ(j.read("0").failed().code, failure::unknown_session);
  EXPECT_EQ(j.read(id_of(2)).failed().code, failure::unknown_session);
}

TEST_F(Journal, ASessionHasOneOwner) {
  auto j = open();
  auto log = j.create(document(1));
  ASSERT_TRUE(log);
  EXPECT_FALSE(event_log::open(std::move(*file::open_directory(AT_FDCWD, root + "/" + id_of(1)))));
  EXPECT_TRUE(open().recover(t0).empty()) << "another orchestrator must not touch it";
  EXPECT_EQ(j.read(id_of(1))->state, session_state::running);
}

TEST_F(Journal, SessionsOfADeadOrchestratorFailWithAllTextSoFar) {
  const auto pid = ::fork();
  ASSERT_GE(pid, 0);
  if (pid == 0) {
    auto j = open();
    auto d = document(1);
    auto log = j.create(d);
    log->append(t0, session_events::state(session_state::running, {}));
    log->append(t0, session_events::task(1, "old"));
    log->append(t0, session_events::text("older text"));
    log->append(t0, session_events::task(2, "new"));
    log->append(t0, session_events::text("so "));
    log->append(t0, session_events::text("far"));
    d.text = "older text";
    (void)log->keep(d);
    auto idle = document(2, session_state::idle);
    auto second = j.create(idle);
    idle.text = std::string(50'000, 'a');
    (void)second->keep(idle);
    auto torn = ::open((root + "/" + id_of(1) + "/events.jsonl").c_str(), O_WRONLY | O_APPEND);
    (void)!::write(torn, "{\"seq\":7,\"ti", 12);
    ::raise(SIGKILL);
  }
  int status = 0;
  ::waitpid(pid, &status, 0);
  ASSERT_TRUE(WIFSIGNALED(status));
  auto j = open();
  const auto later = t0 + hours(1);
  const auto recovered = j.recover(later);
  ASSERT_EQ(recovered.size(), 2u);
  const auto one = j.read(id_of(1));
  ASSERT_TRUE(one);
  EXPECT_EQ(one->state, session_state::failed);
  EXPECT_EQ(one->text, "so far");
  EXPECT_NE(one->error.find("orchestrator ended"), std::string::npos);
  EXPECT_EQ(one->ended_at, later);
  EXPECT_EQ(j.read(id_of(2))->text, std::string(50'000, 'a'));
  auto r = j.follow(id_of(1), 1);
  const auto events = read_all(*r);
  expect_complete(events, 1, 7);
  EXPECT_EQ(events.back()["event"]["state"], "failed");
  EXPECT_TRUE(j.recover(later).empty()) << "once";
}

TEST_F(Journal, AKilledWriterLosesNothingItReported) {
  for (unsigned round = 0; round < 20; ++round) {
    int pipe_fds[2];
    ASSERT_EQ(::pipe(pipe_fds), 0);
    const auto n = static_cast<int>(round) + 1;
    const auto pid = ::fork();
    ASSERT_GE(pid, 0);
    if (pid == 0) {
      auto j = open();
      auto log = j.create(document(n));
      for (int i = 1;; ++i) {
        const auto a = log->append(t0, text_event(i, 200));
        (void)!::write(pipe_fds[1], &a.event->seq, sizeof a.event->seq); // now it is reported
      }
    }
    ::close(pipe_fds[1]);
    std::uint64_t seq = 0, reported = 0;
    const auto enough = 20 + round * 37;
    while (reported < enough && ::read(pipe_fds[0], &seq, sizeof seq) == sizeof seq)
      reported = seq;
    ::kill(pid, SIGKILL);
    while (::read(pipe_fds[0], &seq, sizeof seq) == sizeof seq)
      reported = seq;
    ::waitpid(pid, nullptr, 0);
    ::close(pipe_fds[0]);
    auto j = open();
    ASSERT_EQ(j.recover(t0).size(), 1u);
    auto r = j.follow(id_of(n), 1);
    const auto events = read_all(*r);
    ASSERT_GT(events.size(), reported);
    expect_complete(events, 1, events.size());
  }
}

TEST_F(Journal, UnfinishedCreationsAreRemovedWhenOld) {
  auto j = open();
  const auto making = root + "/.new-" + id_of(1);
  fs::create_directories(making);
  std::ofstream(making + "/lock") << "";
  const auto now = std::chrono::time_point_cast<milliseconds>(std::chrono::system_clock::now());
  j.recover(now);
  EXPECT_TRUE(fs::exists(making)) << "somebody may be at it";
  j.recover(now + hours(1));
  EXPECT_FALSE(fs::exists(making));
}

TEST_F(Journal, TheOldestAreForgotten) {
  auto j = open();
  for (int i = 1; i <= 10; ++i) {
    auto d = document(i, session_state::stopped);
    d.ended_at = t0 + hours(i);
    ASSERT_TRUE(j.create(d));
  }
  auto live = j.create(document(11));
  ASSERT_TRUE(live);
  EXPECT_EQ(j.prune({6, hours(1000)}, t0),
            (std::vector<std::string>{id_of(1), id_of(2), id_of(3), id_of(4)}));
  EXPECT_EQ(j.prune({6, hours(2)}, t0 + hours(7) + milliseconds(1)),
            (std::vector<std::string>{id_of(5)}));
  EXPECT_EQ(j.ended().size(), 5u);
  EXPECT_TRUE(j.read(id_of(11)));
  EXPECT_FALSE(fs::exists(root + "/" + id_of(1)));
}

TEST_F(Journal, StrangeThingsInTheDirectoryDoNoHarm) {
  auto j = open();
  std::ofstream(root + "/" + id_of(1)) << "a file";
  fs::create_directory_symlink("/etc", root + "/" + id_of(2));
  fs::create_directories(root + "/" + id_of(3));
  std::ofstream(root + "/" + id_of(3) + "/session.json") << "{\"id\":";
  fs::create_directories(root + "/" + id_of(4));
  std::ofstream(root + "/" + id_of(4) + "/session.json") << std::string(100'000, '[');
  fs::create_directories(root + "/" + id_of(5));
  ASSERT_EQ(::mkfifo((root + "/" + id_of(5) + "/session.json").c_str(), 0600), 0);
  fs::create_directories(root + "/" + id_of(6));
  std::ofstream(root + "/" + id_of(6) + "/session.json")
      << dump(to_json(document(1, session_state::stopped)));
  fs::create_directories(root + "/hello");
  EXPECT_TRUE(j.ended().empty());
  EXPECT_TRUE(j.recover(t0 + hours(9)).empty());
  EXPECT_TRUE(j.prune({0, hours(0)}, t0 + hours(9)).empty());
  EXPECT_FALSE(j.read(id_of(2)));
}

TEST_F(Journal, RefusesADirectoryOfSomebodyElse) {
  EXPECT_FALSE(journal::open("relative"));
  if (::geteuid() != 0) {
    EXPECT_FALSE(journal::open("/"));
    return;
  }
  fs::create_directories(root);
  ASSERT_EQ(::chown(root.c_str(), 12345, 12345), 0);
  EXPECT_FALSE(journal::open(root));
}
