// A journal on a real file system, and what is read of it.
#pragma once

#include "orchestration/journal.hpp"
#include "orchestration/session_events.hpp"
#include "tests/support/temp_dir.hpp"

#include <fcntl.h>
#include <filesystem>
#include <gtest/gtest.h>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

namespace piorch::orchestration {

inline constexpr instant t0{std::chrono::milliseconds{1'795'984'418'711}};

inline std::string id_of(int n) {
  std::string s = std::to_string(n);
  return std::string(32 - s.size(), '0') + s;
}

inline session_document document(int n, session_state s = session_state::running) {
  session_document d;
  d.id = id_of(n);
  d.state = s;
  d.created_at = d.updated_at = t0;
  if (!is_live(s))
    d.ended_at = t0;
  return d;
}

inline std::string text_event(int n, std::size_t size = 0) {
  return session_events::text(std::to_string(n) + std::string(size, 'x'));
}

struct Journal : ::testing::Test {
  test::temp_dir tmp;
  std::string root = tmp / "state/piorch/sessions";

  journal open() {
    auto j = journal::open(root);
    EXPECT_TRUE(j) << j.failed().text;
    return std::move(*j);
  }
  result<event_log> small_log(int n, std::size_t limit) {
    std::filesystem::create_directories(root + "/" + id_of(n));
    return event_log::open(std::move(*file::open_directory(AT_FDCWD, root + "/" + id_of(n))), 1,
                           limit);
  }
  std::vector<nlohmann::json> read_all(event_reader& r,
                                       std::size_t page = limits::event_batch_bytes) {
    std::vector<nlohmann::json> out;
    for (;;) {
      auto p = r.next(page);
      EXPECT_TRUE(p) << p.failed().text;
      if (!p || p->empty())
        return out;
      for (const auto& e : *p) {
        out.push_back(nlohmann::json::parse(e->json));
        EXPECT_EQ(out.back()["seq"], e->seq);
      }
    }
  }
  // Every number is there once, in order, or inside a gap that says so.
  static void expect_complete(const std::vector<nlohmann::json>& events, std::uint64_t from,
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

} // namespace piorch::orchestration
