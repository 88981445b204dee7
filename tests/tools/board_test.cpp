#include "tools/piorch/board.hpp"

#include <algorithm>
#include <gmock/gmock.h>

namespace piorch::cli {
namespace {

using testing::AllOf;
using testing::HasSubstr;
using testing::Not;

constexpr orchestration::instant now{std::chrono::milliseconds{1'795'984'418'711}};

std::string all(const drawn_board& d) {
  std::string out;
  for (const auto& line : d.lines)
    out += line + "\n";
  return out;
}

board example() {
  board b;
  orchestration::session_document s;
  s.id = std::string(32, '1');
  s.name = "helper";
  s.state = orchestration::session_state::running;
  s.created_at = s.updated_at = now - std::chrono::seconds(90);
  s.task = std::string(300, 't');
  b.sessions.push_back(s);
  ipc::command_entry worker;
  worker.pid = 7;
  worker.session_id = s.id;
  worker.cpu_seconds = 12.34;
  worker.rss_bytes = std::uint64_t{200} << 20;
  ipc::command_entry command = worker;
  command.session_id.reset();
  command.command = "make test";
  command.started_at = command.active_at = orchestration::to_text(now - std::chrono::seconds(5));
  b.commands = {worker, command};
  ipc::approval_request a;
  a.id = "4711-3";
  a.operation = "connect";
  a.destination = "example.org:443";
  a.command = std::string(200, 'c') + "END";
  a.cwd = "/w";
  a.expires_at = orchestration::to_text(now + std::chrono::seconds(60));
  b.approvals = {a};
  return b;
}

board_options options() {
  board_options o;
  o.now = now;
  return o;
}

std::size_t width(const std::string& line) {
  return static_cast<std::size_t>(std::count_if(line.begin(), line.end(), [](char c) {
    return (static_cast<unsigned char>(c) & 0xc0) != 0x80;
  }));
}

TEST(Board, FitsEveryTerminal) {
  auto b = example();
  for (int i = 0; i < 50; ++i) {
    b.sessions.push_back(b.sessions[0]);
    b.commands.push_back(b.commands[1]);
    b.approvals.push_back(b.approvals[0]);
    b.approvals.back().id = "4711-" + std::to_string(100 + i);
  }
  b.selected = "4711-3";
  for (const std::size_t columns : {20u, 80u, 200u})
    for (const std::size_t rows : {1u, 2u, 5u, 10u, 24u, 60u}) {
      auto o = options();
      o.columns = columns;
      o.rows = rows;
      const auto d = draw(b, o);
      EXPECT_LE(d.lines.size(), rows);
      for (const auto& line : d.lines)
        EXPECT_LE(width(line), columns) << line;
    }
}

TEST(Board, ShowsWhatRunsWithItsFigures) {
  const auto text = all(draw(example(), options()));
  EXPECT_THAT(text, HasSubstr("live sessions: 1, commands: 1, waiting for approval: 1"));
  EXPECT_THAT(text,
              HasSubstr("  11111111 helper     running  90 s    12.3 s  200 MiB  90 s    ttt"));
  EXPECT_THAT(
      text, HasSubstr("  7                   running  5 s     12.3 s  200 MiB  5 s     make test"));
  EXPECT_THAT(text, Not(HasSubstr("\033")));
  auto o = options();
  o.colour = true;
  EXPECT_THAT(all(draw(example(), o)), HasSubstr("\033[1m"));
}

TEST(Board, OnlyWhatIsSelectedAndWholeCanBeAnswered) {
  auto b = example();
  EXPECT_EQ(draw(b, options()).answerable, "");
  b.selected = "4711-3";
  auto d = draw(b, options());
  EXPECT_EQ(d.answerable, "4711-3");
  EXPECT_THAT(all(d), AllOf(HasSubstr("connect to: example.org:443"), HasSubstr("cEND\n")));
  b.approvals[0].command = std::string(8000, 'c');
  d = draw(b, options()); // more than 24 lines
  EXPECT_EQ(d.answerable, "");
  EXPECT_THAT(all(d), HasSubstr("too long for this screen"));
  b.selected = "4711-4";
  EXPECT_EQ(draw(b, options()).answerable, "");
}

TEST(Board, HostileWordsAreShownForWhatTheyAre) {
  auto b = example();
  b.selected = "4711-3";
  b.approvals[0].command = "a\x1b[2J\nb\xe2\x80\xaetxt\\";
  b.sessions[0].task = b.sessions[0].name = b.commands[1].command = "\x1b[2J\nfaked";
  const auto text = all(draw(b, options()));
  EXPECT_THAT(text, HasSubstr("command: a\\x1b[2J\\nb\\xe2\\x80\\xaetxt\\\\\n"));
  EXPECT_THAT(text, Not(HasSubstr("\033")));
  EXPECT_THAT(text, Not(HasSubstr("\nfaked")));
}

} // namespace
} // namespace piorch::cli
