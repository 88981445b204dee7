// The command actor: one command.run of a client. Owns the command's broker and
// ends with it; a client that is gone takes its commands along. Where the trusted
// configuration lets a command run on the host, it has that approved first.
#pragma once

#include "actors/approval_desk.hpp"
#include "actors/remote_broker.hpp"
#include "config/settings.hpp"
#include "orchestration/host_access.hpp"

#include <functional>

namespace piorch::actors {

// What a command may use of the orchestrator.
struct command_services {
  broker_starter start_broker;
  approval_desk_handle desk;
  // Reads the trusted configuration; none: the defaults.
  std::function<result<config::settings>()> settings;
  // Keeps what commands were refused, under ids that this makes; none: nobody does.
  sandbox_list_handle sandboxes = {};
  std::function<std::string()> new_id = {};
};

class command_state {
public:
  static inline const char* name = "command";
  using pointer = command_handle::stateful_pointer<command_state>;

  explicit command_state(pointer self) : self_(self) {}

  void begin(client_handle client, ipc::command_run_params what, command_services services);
  void on_output(const broker_output& out);
  void on_event(const broker_event& event);
  void on_ended(const broker_ended& end);
  void on_answer(const answer_approval& answer);
  void on_grant(const grant_output& grant);
  void cancel();

private:
  void start(bool on_host, std::chrono::milliseconds time_limit);
  void ask_for_host(std::string policy, std::string warning);
  bool wants_retry(const broker_ended& end) const;
  void say(std::string line); // on stderr
  void note(const broker_event& event);
  void finish(const broker_ended& end);

  pointer self_;
  client_handle client_;
  ipc::command_run_params what_;
  command_services services_;
  config::settings settings_;
  orchestration::approval_question about_;
  orchestration::socket_refusal refusal_;
  watches neighbours_;
  std::string id_; // ours
  remote_broker_handle broker_;
  std::optional<broker_ended> first_; // of the run in the sandbox, while the second is decided on
  bool asking_ = false;
  bool on_host_ = false;
  bool cancelled_ = false;
  std::size_t unsent_ = 0;  // bytes of output that have not left for the client
  std::size_t foreign_ = 0; // of them, those that the present broker did not send
};

command_handle::behavior_type command_actor(command_state::pointer self, client_handle client,
                                            ipc::command_run_params what,
                                            command_services services);

} // namespace piorch::actors
