#include "orchestration/session_list.hpp"

#include <gtest/gtest.h>

using namespace piorch;
using namespace piorch::orchestration;

namespace {

document_ptr session(const std::string& id, session_state s, const std::string& name = "") {
  session_document d;
  d.id = id;
  d.name = name;
  d.state = s;
  return std::make_shared<const session_document>(d);
}

const std::string a(32, 'a'), b(32, 'b');

std::vector<std::string> ids(const session_list::changes& c) {
  std::vector<std::string> out;
  for (const auto& d : c.sessions)
    out.push_back(d->id);
  return out;
}

} // namespace

TEST(SessionList, TellsWhatHasChangedSinceARevision) {
  session_list l;
  EXPECT_TRUE(l.since({}).all);
  l.put(session(a, session_state::running));
  l.put(session(b, session_state::running));
  const auto then = l.revision();
  EXPECT_FALSE(l.has_news(then, ""));
  EXPECT_TRUE(l.since(then).sessions.empty());
  l.put(session(a, session_state::idle));
  EXPECT_TRUE(l.has_news(then, ""));
  EXPECT_TRUE(l.has_news(then, a));
  EXPECT_FALSE(l.has_news(then, b));
  EXPECT_EQ(ids(l.since(then)), std::vector<std::string>{a});
  EXPECT_FALSE(l.since(then).all);
  EXPECT_EQ(ids(l.since({})), (std::vector<std::string>{a, b}));
  EXPECT_EQ(l.get(a)->state, session_state::idle);
}

TEST(SessionList, WhoMissedAForgettingGetsTheWholeList) {
  session_list l;
  l.put(session(a, session_state::stopped));
  l.put(session(b, session_state::running));
  const auto then = l.revision();
  l.forget(a);
  EXPECT_TRUE(l.has_news(then, ""));
  EXPECT_TRUE(l.has_news(then, a));
  EXPECT_FALSE(l.has_news(then, b));
  EXPECT_TRUE(l.since(then).all);
  EXPECT_EQ(ids(l.since(then)), std::vector<std::string>{b});
  EXPECT_FALSE(l.since(l.revision()).all);
  const auto now = l.revision();
  l.forget(a);
  EXPECT_EQ(l.revision(), now) << "it was forgotten before";
}

TEST(SessionList, ARevisionOfSomebodyElseIsNoneOfOurs) {
  session_list l;
  l.put(session(a, session_state::idle));
  EXPECT_TRUE(l.has_news(77, ""));
  EXPECT_TRUE(l.has_news(77, a));
  EXPECT_TRUE(l.since(77).all);
}

TEST(SessionList, FindsByIdPrefixAndName) {
  session_list l;
  l.put(session(a, session_state::stopped, "x"));
  EXPECT_FALSE(l.has_live_name("x"));
  l.put(session(b, session_state::idle, "x"));
  EXPECT_TRUE(l.has_live_name("x"));
  EXPECT_EQ(*l.find("x"), b);
  EXPECT_EQ(*l.find("aaaa"), a);
  EXPECT_FALSE(l.find("nobody"));
  EXPECT_EQ(l.get("nobody"), nullptr);
}
