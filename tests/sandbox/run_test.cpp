#include "sandbox/run.hpp"

#include "sandbox/init_protocol.hpp"

#include <cerrno>
#include <csignal>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace piorch::sandbox {
namespace {

using step = run::step;
using testing::HasSubstr;

constexpr auto setup = static_cast<std::uint32_t>(init::stage::setup);
constexpr auto exec = static_cast<std::uint32_t>(init::stage::exec);

int exited(int code) { return code << 8; }

TEST(SandboxRun, AnOrdinaryLife) {
  run r;
  EXPECT_EQ(r.on_started(), step::nothing);
  EXPECT_EQ(r.on_exited(exited(3), 1500000, 2048), step::nothing);
  EXPECT_FALSE(r.finished());
  EXPECT_EQ(r.on_gone(""), step::clean_up);
  EXPECT_TRUE(r.finished());
  EXPECT_EQ(r.result().exit_code, 3);
  EXPECT_TRUE(r.result().started);
  EXPECT_EQ(r.result().problem, "");
  EXPECT_DOUBLE_EQ(r.result().cpu_seconds, 1.5);
  EXPECT_EQ(r.result().peak_rss_bytes, 2048u * 1024);
}

TEST(SandboxRun, ASignalIs128AndItsNumber) {
  run r;
  r.on_started();
  r.on_exited(SIGSEGV | 0x80, 0, 0); // with a core dump
  r.on_gone("");
  EXPECT_EQ(r.result().exit_code, 128 + SIGSEGV);
  EXPECT_EQ(r.result().signal, SIGSEGV);
}

TEST(SandboxRun, WhatCouldNotBeRunDecidesTheStatus) {
  const struct {
    std::uint32_t stage;
    int error, status;
  } cases[] = {{setup, EPERM, 125}, {exec, ENOENT, 127}, {exec, EACCES, 126}, {exec, ENOEXEC, 126}};
  for (const auto& c : cases) {
    run r;
    EXPECT_EQ(r.on_failed(c.stage, c.error, "run it"), step::nothing);
    EXPECT_EQ(r.on_gone("ignored"), step::clean_up);
    EXPECT_EQ(r.result().exit_code, c.status);
    EXPECT_THAT(r.result().problem, HasSubstr("cannot run it: "));
    EXPECT_FALSE(r.result().started);
  }
}

TEST(SandboxRun, BubblewrapThatCouldNotIsExplained) {
  run r;
  EXPECT_EQ(r.on_gone("bwrap: Creating new namespace failed: No space left on device\n"),
            step::clean_up);
  EXPECT_EQ(r.result().exit_code, 125);
  EXPECT_THAT(r.result().problem, HasSubstr("user namespaces are forbidden"));
}

TEST(SandboxRun, ATimeLimitIsTermThenKillAnd124) {
  run r;
  r.on_started();
  EXPECT_EQ(r.on_end(end_reason::timeout), step::terminate);
  EXPECT_EQ(r.on_end(end_reason::cancel), step::nothing) << "the first reason counts";
  EXPECT_EQ(r.on_grace_over(), step::kill);
  EXPECT_EQ(r.on_gone(""), step::clean_up);
  EXPECT_EQ(r.result().exit_code, 124);
  EXPECT_TRUE(r.result().timed_out);
  EXPECT_FALSE(r.result().cancelled);
}

TEST(SandboxRun, ACommandThatLeavesInItsGraceKeepsItsStatusUnlessTimedOut) {
  for (const auto why : {end_reason::cancel, end_reason::hangup, end_reason::timeout}) {
    run r;
    r.on_started();
    r.on_end(why);
    r.on_exited(exited(7), 0, 0);
    EXPECT_EQ(r.on_grace_over(), step::kill) << "its daemons are still there";
    r.on_gone("");
    EXPECT_EQ(r.result().exit_code, why == end_reason::timeout ? 124 : 7);
    EXPECT_EQ(r.result().cancelled, why == end_reason::cancel);
  }
}

// It may run already, though that was not heard.
TEST(SandboxRun, AnEndBeforeTheStartIsTermToo) {
  run r;
  EXPECT_EQ(r.on_end(end_reason::hangup), step::terminate);
  EXPECT_EQ(r.on_started(), step::nothing);
  r.on_exited(exited(7), 0, 0);
  EXPECT_EQ(r.on_gone(""), step::clean_up);
  EXPECT_EQ(r.result().exit_code, 7);
}

TEST(SandboxRun, WhatIsEndedBeforeItsStartIsNotStarted) {
  run r;
  EXPECT_EQ(r.on_end(end_reason::cancel), step::terminate);
  EXPECT_EQ(r.on_gone(""), step::clean_up);
  EXPECT_EQ(r.result().exit_code, 125);
  EXPECT_EQ(r.result().problem, "") << "nobody has to be told what he asked for";
}

TEST(SandboxRun, WallsThatDoNotComeUpAreGivenUp) {
  run r;
  r.on_end(end_reason::cancel);
  EXPECT_EQ(r.on_grace_over(), step::kill);
  EXPECT_EQ(r.on_gone(""), step::clean_up);
}

TEST(SandboxRun, KilledFromOutside) {
  run r;
  r.on_started();
  EXPECT_EQ(r.on_gone(""), step::clean_up);
  EXPECT_EQ(r.result().exit_code, 128 + SIGKILL);
  EXPECT_EQ(r.result().signal, SIGKILL);
}

TEST(SandboxRun, AfterTheEndNothingCounts) {
  run r;
  r.on_started();
  r.on_exited(exited(1), 0, 0);
  r.on_gone("");
  EXPECT_EQ(r.on_end(end_reason::timeout), step::nothing);
  EXPECT_EQ(r.on_grace_over(), step::nothing);
  EXPECT_EQ(r.on_started(), step::nothing);
  EXPECT_EQ(r.on_exited(exited(2), 0, 0), step::nothing);
  EXPECT_EQ(r.on_failed(exec, ENOENT, "x"), step::nothing);
  EXPECT_EQ(r.on_gone(""), step::nothing) << "clean up once";
  EXPECT_EQ(r.result().exit_code, 1);
}

TEST(SandboxRun, AnExitThatWasNeverStartedIsNotBelieved) {
  run r;
  EXPECT_EQ(r.on_exited(exited(0), 0, 0), step::nothing);
  r.on_gone("");
  EXPECT_EQ(r.result().exit_code, 125);
  EXPECT_FALSE(r.result().started);
}

} // namespace
} // namespace piorch::sandbox
