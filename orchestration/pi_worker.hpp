// Pi's worker protocol (`pi --mode rpc`, one JSON object a line): its lines as
// typed events, and the commands we send. The worker is not trusted: whatever
// it writes becomes an event, never an exception. Pure; any thread.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <variant>

namespace piorch::orchestration::pi_worker {

// The answer to a command. `disposition` is Pi's for a prompt: started, queued
// or handled; empty from versions that do not tell.
struct response {
  std::string id;
  std::string command;
  bool success = false;
  std::string error;
  std::string disposition;
  std::string model; // of get_state: "provider/id"
  bool busy = false; // of get_state: a run is going on
};

struct run_started {};
struct run_settled { // once per run, the only event that ends one
  bool aborted = false;
};

// A message taken from the queue: what follows answers it.
struct user_message {
  std::string text;
};

struct token_usage {
  std::uint64_t input_tokens = 0; // read from or written to a cache included
  std::uint64_t output_tokens = 0;
  double cost = 0;
};

struct assistant_message {
  std::string text;
  std::string stop_reason; // stop, toolUse, length, error, aborted, …
  std::string error_message;
  token_usage usage;
};

struct text_delta {
  std::string delta;
};

struct tool_started {
  std::string call_id;
  std::string tool;
  std::string arguments; // JSON
};
struct tool_ended {
  std::string call_id;
  std::string tool;
  std::string output;
  bool is_error = false;
  std::uint64_t duration_ms = 0;
};

struct retry_started { // Pi asks the provider again
  std::uint64_t attempt = 0;
  std::uint64_t attempts = 0;
  std::uint64_t delay_ms = 0;
  std::string error;
};

// An extension waits for a person. Nobody is there: answer with cancel_dialog().
struct dialog {
  std::string id;
  std::string method;
  std::string title;
};

struct notice { // an extension failed or says something
  std::string text;
};

struct unreadable { // not a line of the protocol
  std::string why;
  std::string excerpt;
};

struct ignored {}; // known or from a newer Pi, and of no use to us

using event =
    std::variant<response, run_started, run_settled, user_message, assistant_message, text_delta,
                 tool_started, tool_ended, retry_started, dialog, notice, unreadable, ignored>;

event parse(std::string_view line);

// Commands, each one line with its LF. A prompt always says what to do when the
// worker is busy: without it Pi refuses, and `follow_up` to an idle Pi is queued
// for ever.
std::string prompt(std::string_view id, std::string_view message);
std::string get_state(std::string_view id);
std::string clear_queue(std::string_view id);
std::string abort(std::string_view id);
std::string cancel_dialog(std::string_view id);

} // namespace piorch::orchestration::pi_worker
