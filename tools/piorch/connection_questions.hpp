// Asks the person at the terminal for the connections that some sessions want to make, one
// question at a time, while a command of ours waits for them. For that the command's
// connection says to the orchestrator that it can be asked (answers::yes). While the command is
// in its shell's background a question waits. Main thread.
#pragma once

#include "ipc/client.hpp"
#include "ipc/protocol.hpp"

#include <deque>
#include <functional>
#include <nlohmann/json.hpp>
#include <optional>
#include <poll.h>
#include <set>
#include <string>
#include <vector>

namespace piorch::cli {

// A person sees our stderr and can type.
bool can_ask_here();

class connection_questions {
public:
  // `show` gets the params of session events: at once, or, because the question has the
  // screen, when it is answered. Nothing is asked unless `usable`.
  connection_questions(bool usable, std::function<void(const nlohmann::json&)> show);
  ~connection_questions();
  connection_questions(const connection_questions&) = delete;
  connection_questions& operator=(const connection_questions&) = delete;

  // Whose questions are asked here; until the first one is named, those of any session.
  void about(const std::string& session) { sessions_.insert(session); }

  // Takes a message of `peer` (which outlives this) if it is about an approval.
  bool take(ipc::client& peer, const ipc::rpc_message& message);
  void event(nlohmann::json params);

  bool is_open() const { return !current_.id.empty(); }
  // To wait for beside the connections; some of the descriptors may be -1.
  std::vector<pollfd> wait_for() const;
  // When to call read() at the latest: no event tells that a shell has brought us to the front.
  std::optional<ipc::client::clock::time_point> look_again() const;
  // One of them is ready.
  void read();

private:
  struct question {
    ipc::client* peer = nullptr;
    ipc::rpc_id request;
    std::string id;
    std::string host;
    std::string text;
  };

  bool is_asked_here(const ipc::approval_request& request) const;
  void next();
  void ask();
  void read_line();
  void answer(bool allow);
  void leave_screen();
  bool has_terminal() const;

  ipc::unique_fd tty_;
  ipc::unique_fd continued_; // SIGCONT: the screen may be another one now
  std::set<std::string> sessions_;
  std::function<void(const nlohmann::json&)> show_;
  std::deque<question> queue_;
  question current_; // on the screen, if it has an id
  std::string line_;
  std::deque<nlohmann::json> held_;
  std::size_t not_held_ = 0;
};

} // namespace piorch::cli
