// The approval desk: one actor per orchestrator. Keeps the book of what waits for
// an answer (orchestration/approvals), shows it to clients and passes the answer to
// whoever asked. A question ends with its asker, a client's view with the client.
#pragma once

#include "actors/change_waiters.hpp"
#include "actors/interfaces.hpp"
#include "orchestration/approvals.hpp"
#include "orchestration/instant.hpp"

#include <functional>
#include <map>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace piorch::actors {

struct approval_desk_options {
  std::function<orchestration::instant()> now; // on the actor's thread
  // Begins every id. People name a question by its id alone, whichever of a user's
  // orchestrators it belongs to.
  std::string id_prefix;
};

class approval_desk_state {
public:
  static inline const char* name = "approval_desk";
  using pointer = approval_desk_handle::stateful_pointer<approval_desk_state>;

  explicit approval_desk_state(pointer self) : self_(self) {}
  ~approval_desk_state(); // the approval actors, which have a clock running

  void begin(approval_desk_options options) { options_ = std::move(options); }
  void join(const caf::actor& who);
  void ask(const approval_wanted& what);
  void withdraw(const approval_unwanted& what);
  void settled(const approval_settled& outcome); // only the clock does that here
  caf::result<done> answer(const answer_pending& what);
  caf::result<ipc::approval_list_result> list(const ipc::approval_list_params& what);

private:
  struct open_question {
    caf::actor asker;
    std::string asker_id; // what the asker calls it
    approval_handle clock;
  };
  using asked = std::pair<caf::actor, std::string>; // asker, its id

  void apply(const orchestration::approvals::effects& effects);
  void forget(const std::string& id);
  void cancel(const std::string& id);
  void asker_gone(const caf::actor& asker);
  std::string id_of(std::uint64_t number) const;
  ipc::approval_request request_of(const std::string& id) const;
  ipc::approval_list_result everything() const;
  void changed();

  pointer self_;
  approval_desk_options options_;
  orchestration::approvals book_;
  watches watches_;
  std::uint64_t last_client_ = 0;
  std::map<caf::actor, orchestration::approvals::client> numbers_;
  std::map<orchestration::approvals::client, caf::actor> clients_;
  std::uint64_t last_question_ = 0;
  std::map<std::string, open_question> open_; // by our id
  std::map<asked, std::string> ids_;
  std::set<caf::actor> askers_; // being watched
  std::uint64_t revision_ = 1;
  change_waiters<ipc::approval_list_params, ipc::approval_list_result> watching_;
};

approval_desk_handle::behavior_type approval_desk_actor(approval_desk_state::pointer self,
                                                        approval_desk_options options);

// Passes on what the broker of a command or session says about approvals; other
// events do not matter here. `about` says whose it is, `owner` is the client that
// has to answer (none: any).
void pass_to_desk(const approval_desk_handle& desk, const broker_event& event,
                  orchestration::approval_question about, const caf::actor& owner,
                  const remote_broker_handle& asker);

// For session_services::approval: the questions of a session's worker go to every
// approving client.
std::function<void(const orchestration::session_document&, const broker_event&,
                   const remote_broker_handle&)>
approvals_of_sessions(approval_desk_handle desk);

} // namespace piorch::actors
