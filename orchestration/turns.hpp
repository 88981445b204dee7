// Which answer belongs to which task. One task at a time is with the worker and
// the others wait here: Pi loses the second of two prompts in flight, keeps
// what it queued itself across an abort, and settles once for several prompts.
// Takes the worker's events, returns lines to write and answers to give.
// Not thread-safe: one owner.
#pragma once

#include "config/result.hpp"
#include "orchestration/pi_worker.hpp"

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <vector>

namespace piorch::orchestration {

using task_id = std::uint64_t; // unique within a session, chosen by the owner

// The end of one task: the text that answers it, or why there is none; then
// `partial` is what the model had said.
struct answer {
  task_id task = 0;
  result<std::string> outcome{std::string()};
  std::string partial;
  bool sent = false;     // the worker had it, or was asked to take it
  std::string task_text; // of a task that was sent and did not begin
};

struct begun_task {
  task_id task = 0;
  std::string text;
};

struct turn_effects {
  std::vector<std::string> to_worker;
  std::vector<task_id> accepted; // the worker has taken it
  std::vector<begun_task> begun; // its run is going on
  std::vector<answer> answers;
};

class turns {
public:
  // Queues a task; failure::limit_reached when too many or too long ones wait.
  result<turn_effects> submit(task_id task, std::string text);

  // The worker answered for the first time: tasks may go to it.
  turn_effects worker_ready();

  turn_effects on(const pi_worker::response& r);
  turn_effects on(const pi_worker::user_message& m);
  turn_effects on(const pi_worker::assistant_message& m);
  turn_effects on(const pi_worker::run_started&);
  turn_effects on(const pi_worker::run_settled& s);

  // Ends everything that waits or runs with `why`; the worker stays.
  turn_effects abort(const error& why);

  // Likewise for one task; others go on afterwards. Unknown ones: nothing.
  turn_effects abort_task(task_id task, const error& why);

  // The worker is gone: every task ends with `why`.
  turn_effects worker_gone(const error& why);

  // Something is with the worker or waits for it.
  bool busy() const noexcept { return current_ || !waiting_.empty() || aborting_; }
  // An abort was sent, and the worker has not shown that it is through with it.
  bool aborting() const noexcept { return aborting_; }
  // Tells one abort from a later one.
  std::uint64_t aborts() const noexcept { return aborts_; }
  std::size_t waiting() const noexcept { return waiting_.size(); }

private:
  struct queued {
    task_id task;
    std::string text;
  };
  struct running {
    task_id task = 0;
    std::string text;
    std::string prompt_id;
    bool accepted = false; // the prompt was answered
    bool started = false;  // with a run of its own
    bool begun = false;    // its user message was seen
    std::optional<pi_worker::assistant_message> last;
    std::optional<error> aborted; // why it shall end
  };

  void next(turn_effects& out);
  queued take(std::deque<queued>::iterator i);
  void send_abort(turn_effects& out);
  void finish(turn_effects& out, bool settled_aborted);
  void fail(turn_effects& out, error why);
  std::string new_id(char kind) { return kind + std::to_string(++last_id_); }

  bool ready_ = false;
  std::uint64_t last_id_ = 0;
  std::deque<queued> waiting_;
  std::size_t waiting_bytes_ = 0;
  std::optional<running> current_;
  bool aborting_ = false;
  std::uint64_t aborts_ = 0;
  std::string abort_id_; // empty while the abort waits for the prompt's answer
  std::string clear_id_; // of a clear_queue that gets a stuck prompt back
};

} // namespace piorch::orchestration
