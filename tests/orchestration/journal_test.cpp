// The journal: documents of sessions, their owners, and what dead orchestrators leave.
#include "tests/orchestration/journal_fixture.hpp"

#include "orchestration/json_text.hpp"

#include <csignal>
#include <fstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace piorch::orchestration {
namespace {

namespace fs = std::filesystem;
using std::chrono::hours;
using std::chrono::milliseconds;

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

} // namespace
} // namespace piorch::orchestration
