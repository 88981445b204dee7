#include "orchestration/approvals.hpp"

#include <gtest/gtest.h>

namespace {

using namespace piorch;
using namespace piorch::orchestration;

std::string text(const approvals::effects& e) {
  std::string out;
  for (const auto& s : e.show)
    out += "show " + s.id + " to " + std::to_string(s.to) + "; ";
  for (const auto& s : e.withdraw)
    out += "withdraw " + s.id + " from " + std::to_string(s.to) + "; ";
  for (const auto& s : e.settle)
    out += s.id + (s.verdict.allow ? " allowed by " : " denied by ") + s.verdict.source + "; ";
  return out;
}

approval_question connect() {
  return {"network", "connect", "example.org:443", "curl", "/w", "", "", "", "", ""};
}

TEST(OrchestrationApprovals, NobodyToAskIsADenialAtOnce) {
  approvals book;
  EXPECT_EQ(text(book.ask("a", connect(), 1)), "a denied by noApprover; ");
  EXPECT_TRUE(book.waiting().empty());
}

TEST(OrchestrationApprovals, TheOwnerIsAskedAndNobodyElse) {
  approvals book;
  book.join(1);
  book.join(2);
  EXPECT_EQ(text(book.ask("a", connect(), 2)), "show a to 2; ");
  EXPECT_EQ(text(*book.answer("a", {true, "", ""}, 2)), "a allowed by approval; ");
}

TEST(OrchestrationApprovals, WithoutAnApprovingOwnerEveryApproverIsAskedAndTheFirstWins) {
  approvals book;
  book.join(1);
  book.join(2);
  EXPECT_EQ(text(book.ask("a", connect(), 9)), "show a to 1; show a to 2; ");
  EXPECT_EQ(text(*book.answer("a", {false, "client", "no"}, 1)),
            "withdraw a from 2; a denied by client; ");
  const auto second = book.answer("a", {true, "", ""}, 2);
  ASSERT_FALSE(second);
  EXPECT_EQ(second.failed().code, failure::unknown_approval);
}

TEST(OrchestrationApprovals, AnAnswerFromElsewhereWithdrawsItEverywhere) {
  approvals book;
  book.join(1);
  book.ask("a", connect(), 1);
  EXPECT_EQ(text(*book.answer("a", {true, "terminal", ""})),
            "withdraw a from 1; a allowed by terminal; ");
}

TEST(OrchestrationApprovals, ANewApproverSeesWhatNoOwnerLooksAt) {
  approvals book;
  book.join(1);
  book.ask("a", connect(), 1);
  book.ask("b", connect(), {});
  EXPECT_EQ(text(book.join(2)), "show b to 2; ");
}

TEST(OrchestrationApprovals, WhatOnlyOneWasShownGoesToTheOthersOrIsDenied) {
  approvals book;
  book.join(1);
  book.join(2);
  book.ask("a", connect(), 1);
  EXPECT_EQ(text(book.leave(1)), "show a to 2; ");
  EXPECT_EQ(text(book.leave(2)), "a denied by approverLeft; ");
}

TEST(OrchestrationApprovals, WhatNoLongerMattersIsWithdrawnAndNotSettled) {
  approvals book;
  book.join(1);
  book.ask("a", connect(), 1);
  EXPECT_EQ(text(book.cancel("a")), "withdraw a from 1; ");
  EXPECT_EQ(text(book.cancel("a")), "");
  EXPECT_FALSE(book.answer("a", {true, "", ""}));
  EXPECT_TRUE(book.waiting().empty());
}

TEST(OrchestrationApprovals, TheBookIsBounded) {
  approvals book;
  book.join(1);
  for (int i = 0; i < 256; ++i)
    EXPECT_TRUE(book.ask(std::to_string(i), connect(), 1).settle.empty());
  EXPECT_EQ(text(book.ask("more", connect(), 1)), "more denied by tooManyRequests; ");
  EXPECT_EQ(text(book.ask("0", connect(), 1)), "0 denied by tooManyRequests; "); // taken
  EXPECT_EQ(book.waiting().size(), 256u);
}

} // namespace
