#include "orchestration/external_workers.hpp"

#include <gtest/gtest.h>

namespace piorch::orchestration {
namespace {

using state_type = external_worker::state_type;

class OrchestrationExternalWorkers : public ::testing::Test {
protected:
  static external_worker worker(const std::string& id, const std::string& cwd = "/project",
                                const std::string& parent = "") {
    external_worker w;
    w.id = id;
    w.cwd = cwd;
    w.parent = parent;
    return w;
  }
  std::string refusal(const external_worker& w, std::uint64_t link = 1) {
    const auto added = book.add(w, link, true, now);
    return added ? "" : added.failed().text;
  }
  state_type end(const std::string& id, std::optional<int> code, std::optional<int> signal) {
    const auto ended = book.end(id, "/project", {code, signal, ""}, now);
    EXPECT_EQ(ended.size(), 1u);
    return ended.empty() ? state_type::running : ended[0].state;
  }

  instant now{};
  external_workers book{"/project", {"/tmp"}};
};

TEST_F(OrchestrationExternalWorkers, RunInTheProjectAndInManagedWorktreesOnly) {
  EXPECT_EQ(refusal(worker("1")), "");
  EXPECT_EQ(refusal(worker("2", "/project/sub")), "");
  EXPECT_EQ(refusal(worker("3", "/tmp/pi-worktree-run-0")), "");
  EXPECT_EQ(refusal(worker("4", "/tmp/pi-worktree-run-0/sub")), "");
  for (const char* cwd : {"/", "/projects", "/home/u/.ssh", "/tmp", "/tmp/other",
                          "/tmp/pi-worktree-", "/other/pi-worktree-run-0", "/project/../etc",
                          "/project/./sub", "/project/sub/..", "/tmp/pi-worktree-run-0/../x", ""})
    EXPECT_NE(refusal(worker(std::string("x") + cwd, cwd)), "") << cwd;
  EXPECT_EQ(book.active(), 4u);
}

TEST_F(OrchestrationExternalWorkers, AnIdIsGivenOnce) {
  EXPECT_EQ(refusal(worker("1")), "");
  EXPECT_NE(refusal(worker("1")), "");
  end("1", 0, {});
  EXPECT_NE(refusal(worker("1")), "");
}

TEST_F(OrchestrationExternalWorkers, AFrameCountsOnce) {
  EXPECT_TRUE(book.take_frame_id("a"));
  EXPECT_FALSE(book.take_frame_id("a"));
  for (std::size_t i = 0; i < external_workers::ids_kept; ++i)
    EXPECT_TRUE(book.take_frame_id(std::to_string(i)));
  EXPECT_TRUE(book.take_frame_id("a")); // bounded: forgotten after thousands of others
}

TEST_F(OrchestrationExternalWorkers, OnlyARunningWorkerAsksAndOnlyInItsDirectory) {
  EXPECT_EQ(refusal(worker("1")), "");
  EXPECT_EQ(book.question("1", "/project/sub"), nullptr);
  EXPECT_EQ(book.question("2", "/project"), nullptr);
  ASSERT_NE(book.question("1", "/project"), nullptr);
  EXPECT_EQ(book.question("1", "/project")->questions, 2u);
  EXPECT_TRUE(book.end("1", "/project/sub", {}, now).empty());
  end("1", 0, {});
  EXPECT_EQ(book.question("1", "/project"), nullptr);
}

TEST_F(OrchestrationExternalWorkers, TheEndStateIsTheTrueOne) {
  const struct {
    std::optional<int> code, signal;
    state_type state;
  } cases[] = {
      {0, {}, state_type::completed}, {1, {}, state_type::failed},   {143, {}, state_type::stopped},
      {130, {}, state_type::stopped}, {{}, 15, state_type::stopped}, {{}, 2, state_type::stopped},
      {{}, 9, state_type::failed},    {{}, 11, state_type::failed},  {{}, {}, state_type::failed}};
  int n = 0;
  for (const auto& c : cases) {
    const auto id = std::to_string(++n);
    EXPECT_EQ(refusal(worker(id)), "");
    EXPECT_EQ(end(id, c.code, c.signal), c.state) << n;
  }
}

TEST_F(OrchestrationExternalWorkers, ALeasedWorkerEndsWithItsConnection) {
  EXPECT_TRUE(book.add(worker("leased"), 1, true, now));
  EXPECT_TRUE(book.add(worker("other"), 2, true, now));
  EXPECT_TRUE(book.add(worker("v1"), 1, false, now));
  const auto gone = book.link_closed(1, now);
  ASSERT_EQ(gone.size(), 1u);
  EXPECT_EQ(gone[0].id, "leased");
  EXPECT_EQ(gone[0].state, state_type::failed);
  EXPECT_EQ(gone[0].exit.reason, "its wrapper was killed");
  EXPECT_EQ(book.active(), 2u);
}

TEST_F(OrchestrationExternalWorkers, NestedWorkersCountAndEndWithTheirLead) {
  EXPECT_EQ(refusal(worker("lead")), "");
  EXPECT_NE(refusal(worker("n", "/project", "nobody")), "");
  EXPECT_NE(refusal(worker("n", "/project", "lead"), 2), ""); // over another connection
  for (std::size_t i = 0; i < external_workers::nested_max; ++i)
    EXPECT_EQ(refusal(worker("n" + std::to_string(i), "/project", "lead")), "");
  EXPECT_NE(refusal(worker("deep", "/project", "n0")), ""); // counted at the sandbox's lead
  EXPECT_NE(refusal(worker("more", "/project", "lead")), "");
  end("n0", 0, {});
  EXPECT_EQ(refusal(worker("more", "/project", "lead")), "");
  const auto gone = book.link_closed(1, now);
  EXPECT_EQ(gone.size(), 1 + external_workers::nested_max);
  EXPECT_EQ(gone[0].id, "lead");
  EXPECT_EQ(gone[1].state, state_type::stopped);
  EXPECT_EQ(book.active(), 0u);
}

TEST_F(OrchestrationExternalWorkers, ThereIsRoomForSixtyFour) {
  for (std::size_t i = 0; i < external_workers::active_max; ++i)
    EXPECT_EQ(refusal(worker(std::to_string(i))), "");
  EXPECT_NE(refusal(worker("more")), "");
  end("0", 0, {});
  EXPECT_EQ(refusal(worker("more")), "");
}

} // namespace
} // namespace piorch::orchestration
