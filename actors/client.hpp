// The client actor: one per connection. Takes parsed requests, asks whoever can
// answer them, all at once, and writes the answers as they come. Knows what has
// left for the client, so that commands and sessions go no faster than it reads.
#pragma once

#include "actors/command.hpp"

#include <deque>
#include <functional>
#include <map>
#include <string>

namespace piorch::actors {

// The connection; callable from any thread, also after its end.
struct client_port {
  std::function<void(std::string line)> send;              // without its LF
  std::function<void(ipc::shared_bytes lines)> send_lines; // with their LFs
  std::function<void()> shut;                              // after what was sent
};

// What a client may use of the orchestrator.
struct client_services {
  command_services commands;
  supervisor_handle supervisor; // none: no sessions here
  keeper_handle keeper;
  sandbox_list_handle sandboxes;
  ipc::initialize_result about; // the answer to initialize
  // Opens a place where the workers of pi-subagents sign in, for this client.
  struct supervision {
    worker_supervisor_handle supervisor;
    ipc::worker_supervise_result place;
  };
  std::function<result<supervision>(const ipc::worker_supervise_params&, const caf::actor& client)>
      supervise;
};

class client_state {
public:
  static inline const char* name = "client";
  using pointer = client_handle::stateful_pointer<client_state>;

  explicit client_state(pointer self) : self_(self) {}

  void begin(client_port port, client_services services);
  void on_asked(const client_asked& asked);
  void on_written(std::size_t bytes);
  void on_chunk(const command_chunk& chunk);
  void on_done(const command_done& done);
  void on_events(const session_events& events);
  void on_answered(const ipc::rpc_message& answer);
  void on_approval(const approval_shown& shown);
  void on_approval_over(const approval_over& over);
  void on_worker(const worker_news& news);
  void on_gone();

private:
  struct running {
    ipc::rpc_id asked_by;
    command_handle actor;
  };

  void carry_out(const ipc::rpc_id& id, const ipc::initialize_params& p);
  void carry_out(const ipc::rpc_id& id, const ipc::command_run_params& p);
  void carry_out(const ipc::rpc_id& id, const ipc::command_cancel_params& p);
  void carry_out(const ipc::rpc_id& id, const ipc::command_list_params& p);
  void carry_out(const ipc::rpc_id& id, const ipc::command_report_params& p);
  void carry_out(const ipc::rpc_id& id, const ipc::session_start_params& p);
  void carry_out(const ipc::rpc_id& id, const ipc::session_follow_up_params& p);
  void carry_out(const ipc::rpc_id& id, const ipc::session_handoff_params& p);
  void carry_out(const ipc::rpc_id& id, const ipc::session_wait_params& p);
  void carry_out(const ipc::rpc_id& id, const ipc::session_status_params& p);
  void carry_out(const ipc::rpc_id& id, const ipc::session_abort_params& p);
  void carry_out(const ipc::rpc_id& id, const ipc::session_stop_params& p);
  void carry_out(const ipc::rpc_id& id, const ipc::session_follow_params& p);
  void carry_out(const ipc::rpc_id& id, const ipc::session_unfollow_params& p);
  void carry_out(const ipc::rpc_id& id, const ipc::approval_list_params& p);
  void carry_out(const ipc::rpc_id& id, const ipc::approval_answer_params& p);
  void carry_out(const ipc::rpc_id& id, const ipc::worker_supervise_params& p);
  void carry_out(const ipc::rpc_id& id, const ipc::shutdown_params& p);

  void give_answer(const std::string& id, const ipc::approval_decision& decision);
  template <class Answer, class Question>
  void ask_supervisor(const ipc::rpc_id& id, const Question& what, span limit);
  void answer_text(const ipc::rpc_id& id, const std::string& result_json);
  void refuse(const ipc::rpc_id& id, const error& why);
  void send(std::string line, std::function<void()> written = {});
  void send_lines(ipc::shared_bytes lines, std::function<void()> written);

  pointer self_;
  client_port port_;
  client_services services_;
  bool initialized_ = false;
  std::size_t in_flight_ = 0;
  std::map<std::string, running> commands_;
  std::uint64_t last_request_ = 0;
  std::map<ipc::rpc_id, std::string> asking_; // requests of ours: the approvals they are about
  worker_supervisor_handle workers_;          // of worker.supervise; watches us
  struct on_its_way {
    std::size_t bytes;
    std::function<void()> written;
  };
  std::deque<on_its_way> out_; // what the connection has not written yet
  std::size_t written_ = 0;    // of the first of them
};

client_handle::behavior_type client_actor(client_state::pointer self, client_port port,
                                          client_services services);

} // namespace piorch::actors
