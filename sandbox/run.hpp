// The life of one sandboxed command as a value: takes what happened, says what
// to do next. No clock, no process, no thread of its own.
#pragma once

#include <chrono>
#include <cstdint>
#include <string>

namespace piorch::sandbox {

// How it ended, in the terms of the contract (sections 3 and 5).
struct outcome {
  int exit_code = 125; // the command's own, 128+N, 124, 125, 126 or 127
  int signal = 0;      // that ended it, or 0
  bool started = false;
  bool timed_out = false;
  bool cancelled = false;
  std::string problem; // one line for people when the command was not run; else empty
  double cpu_seconds = 0;
  std::uint64_t peak_rss_bytes = 0;
};

enum class end_reason { timeout, cancel, hangup };

class run {
public:
  // What the owner has to do now.
  enum class step { nothing, terminate, kill, clean_up };
  // After `terminate`, everything is killed when this has passed.
  static constexpr std::chrono::milliseconds grace{500};

  step on_started();
  step on_exited(int wait_status, std::uint64_t cpu_us, std::uint64_t peak_rss_kib);
  step on_failed(std::uint32_t stage, int error, const std::string& text);
  step on_end(end_reason why);
  step on_grace_over();
  // The process tree is gone. `diagnostics` is what bubblewrap printed.
  step on_gone(const std::string& diagnostics);

  bool finished() const { return phase_ == phase::gone; }
  const outcome& result() const { return outcome_; }

private:
  enum class phase { starting, running, ended, gone };
  phase phase_ = phase::starting;
  bool ending_ = false;
  outcome outcome_;
};

} // namespace piorch::sandbox
