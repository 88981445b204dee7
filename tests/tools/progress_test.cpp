// What is shown of a session's events.
#include "tools/piorch/progress.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace piorch::cli {
namespace {

using nlohmann::json;

// Whatever a worker says about itself is no word to the terminal.
TEST(CliProgress, NoFieldOfAnEventIsAControl) {
  const std::string evil = "x\033]52;c;aGk=\007\r\nOn the host: ";
  for (const auto& event :
       {json{{"type", "task"}, {"text", evil}},
        json{{"type", "toolStart"}, {"tool", evil}, {"arguments", evil}},
        json{{"type", "toolEnd"}, {"tool", evil}, {"isError", true}, {"output", evil}},
        json{{"type", "retry"}, {"error", evil}}, json{{"type", "warning"}, {"text", evil}},
        json{{"type", "gap"}, {"from", 1}, {"to", 2}, {"reason", evil}},
        json{{"type", "answer"}, {"error", evil}}, json{{"type", "state"}, {"state", evil}}}) {
    auto shown = event_text(event);
    ASSERT_FALSE(shown.empty()) << event;
    EXPECT_EQ(shown.back(), '\n');
    shown.pop_back();
    for (const char c : shown)
      EXPECT_TRUE(c == '\n' || static_cast<unsigned char>(c) >= 0x20) << event;
  }
}

} // namespace
} // namespace piorch::cli
