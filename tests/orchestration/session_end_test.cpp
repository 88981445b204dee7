// A worker that is lost, late or deaf: what becomes of its session.
#include "tests/orchestration/session_fixture.hpp"

using namespace piorch;
using namespace piorch::orchestration;
using nlohmann::json;
using fixture = session_fixture;

TEST(SessionEnd, ALostWorkerIsAFailureWithItsLastWordsAndThePartialText) {
  fixture f;
  f.start();
  f.submit(1, "a");
  f.submit(2, "b");
  f.respond("prompt", "started");
  f.user();
  f.delta("partial answ");
  f.s.worker_errors("line one\nError: heap out of memory\n");
  worker_end end;
  end.exit.signal = 9;
  end.cpu_seconds = 1.5;
  f.take(f.s.worker_gone(end, t0));
  const auto& d = f.s.document();
  EXPECT_EQ(d.state, session_state::failed);
  EXPECT_EQ(d.text, "partial answ");
  EXPECT_NE(d.error.find("signal 9"), std::string::npos);
  EXPECT_NE(d.error.find("heap out of memory"), std::string::npos);
  EXPECT_EQ(d.exit, 128 + 9);
  EXPECT_DOUBLE_EQ(d.usage.cpu_seconds, 1.5);
  EXPECT_TRUE(d.ended_at);
  EXPECT_TRUE(f.last.ended);
  ASSERT_EQ(f.answers.size(), 2u);
  EXPECT_EQ(f.answers[1].outcome.failed().code, failure::session_failed);
  EXPECT_EQ(f.types().back(), "state");
  const auto r = f.s.submit(3, "c", t0);
  ASSERT_FALSE(r);
  EXPECT_EQ(r.failed().code, failure::session_failed);
  f.take(f.s.worker_gone(end, t0));
  EXPECT_FALSE(f.last.ended) << "it ends once";
}

TEST(SessionEnd, AWorkerThatDoesNotStart) {
  fixture f;
  f.take(f.s.begin(t0));
  f.submit(1, "a");
  f.s.worker_errors("Error: Model \"x/y\" not found.\n");
  worker_end end;
  end.exit.code = 1;
  f.take(f.s.worker_gone(end, t0));
  EXPECT_NE(f.answers.at(0).outcome.failed().text.find("did not start (exit 1)"),
            std::string::npos);
  EXPECT_NE(f.answers[0].outcome.failed().text.find("Model \"x/y\" not found"), std::string::npos);
}

TEST(SessionEnd, WhatMayHaveKeptAWorkerFromStartingIsSaid) {
  auto spec = fixture::make();
  spec.start_hint = "too little memory";
  worker_end crash;
  crash.exit.signal = 6;
  const auto error_of = [&](const worker_end& end, bool was_ready) {
    fixture f;
    f.s = session(spec, t0);
    if (was_ready)
      f.start();
    f.take(f.s.worker_gone(end, t0));
    return f.s.document().error;
  };
  EXPECT_EQ(error_of(crash, false), "the worker did not start (signal 6): too little memory");
  EXPECT_EQ(error_of(crash, true), "the worker ended by itself (signal 6)");
  worker_end lost;
  lost.lost = "no sandbox";
  EXPECT_EQ(error_of(lost, false), "no sandbox");
}

TEST(SessionEnd, TimeOutOfATask) {
  fixture f;
  f.start();
  f.submit(1, "a");
  f.respond("prompt", "started");
  f.user();
  f.delta("some");
  f.take(f.s.expire(1, 5, t0));
  EXPECT_NE(f.last.abort_grace, 0u);
  f.says("some", "aborted");
  f.settled(true);
  f.respond("abort", "");
  ASSERT_EQ(f.answers.size(), 1u);
  EXPECT_EQ(f.answers[0].outcome.failed().text, "timed out after 5 s");
  EXPECT_EQ(f.answers[0].partial, "some");
  EXPECT_EQ(f.s.document().state, session_state::idle);
  f.take(f.s.abort_overdue(f.last.abort_grace, t0));
  EXPECT_FALSE(f.last.end_worker);
}

TEST(SessionEnd, AWorkerThatDoesNotAbortIsEnded) {
  fixture f;
  f.start();
  f.submit(1, "a");
  f.respond("prompt", "started");
  f.user();
  f.take(f.s.abort(t0));
  const auto number = f.last.abort_grace;
  ASSERT_NE(number, 0u);
  f.take(f.s.abort_overdue(number + 1, t0));
  EXPECT_FALSE(f.last.end_worker) << "the timer of another abort";
  f.take(f.s.abort_overdue(number, t0));
  EXPECT_TRUE(f.last.end_worker);
  f.take(f.s.worker_gone({}, t0));
  EXPECT_EQ(f.s.document().state, session_state::failed);
  EXPECT_NE(f.s.document().error.find("did not stop its run"), std::string::npos);
  EXPECT_EQ(f.answers.at(0).outcome.failed().code, failure::cancelled);
}

TEST(SessionEnd, AWorkerThatIsNeverReadyIsEnded) {
  fixture f;
  f.take(f.s.begin(t0));
  f.submit(1, "a");
  f.take(f.s.start_overdue(t0));
  EXPECT_TRUE(f.last.end_worker);
  f.take(f.s.worker_gone({}, t0));
  EXPECT_NE(f.answers.at(0).outcome.failed().text.find("not ready"), std::string::npos);
  fixture g;
  g.start();
  g.take(g.s.start_overdue(t0));
  EXPECT_FALSE(g.last.end_worker);
}
