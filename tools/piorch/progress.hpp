// What a session does, on stderr, while somebody waits for it: tool calls and text
// as they come, and on a terminal a last line that says what goes on. Main thread.
#pragma once

#include <chrono>
#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <string>
#include <string_view>

namespace piorch::cli {

class progress {
public:
  using clock = std::chrono::steady_clock;

  // `fd` gets the output; the live line and colour only when it is a
  // terminal that may have them (colour_wanted).
  explicit progress(int fd);
  ~progress() { clear_line(); }
  progress(const progress&) = delete;
  progress& operator=(const progress&) = delete;

  // The params of a session.event.
  void show(const nlohmann::json& params);
  // Draws the live line again; true while there is one to be drawn each second.
  bool tick();
  // A line of ours, between the worker's.
  void note(std::string_view line);
  void clear_line();

private:
  void say(std::string_view text);
  void end_text();

  int fd_;
  bool live_;
  bool in_text_ = false;    // streamed text has not ended its line
  bool line_drawn_ = false; // the live line is on the screen
  std::string doing_ = "starting";
  clock::time_point begun_ = clock::now();
};

// One event as lines for people, without the streamed text; "" for nothing.
std::string event_text(const nlohmann::json& event);

} // namespace piorch::cli
