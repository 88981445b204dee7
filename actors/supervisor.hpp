// The supervisor actor: counts, starts and finds sessions. It alone decides
// whether there is a slot, and it never does work for a session: requests about a
// live one are passed on to its actor, those about an ended one are answered
// from the journal.
//
// supervisor.cpp: what clients ask and sessions say; supervisor_make.cpp: new sessions.
#pragma once

#include "actors/change_waiters.hpp"
#include "actors/session.hpp"
#include "orchestration/journal.hpp"
#include "orchestration/session_list.hpp"
#include "orchestration/slots.hpp"

#include <array>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace piorch::actors {

// A worker as a client asked for it.
struct worker_request {
  std::string session_id;
  std::string cwd;
  std::string model; // empty: the user's default
  std::optional<std::vector<std::string>> tools;
  std::optional<ipc::environment> env;
};
// A worker that can be started.
struct prepared_worker {
  std::vector<orchestration::provider_endpoint> providers;
  std::function<result<remote_broker_handle>(broker_owner_handle owner)> start;
  std::string start_hint; // see session_spec
};

struct supervisor_services {
  std::function<orchestration::instant()> now;
  std::function<std::array<std::uint8_t, 10>()> random;
  // Looks for Node, Pi and the user's model settings; starts nothing.
  std::function<result<prepared_worker>(const worker_request&)> prepare_worker;
  // See session_services.
  std::function<void(const orchestration::session_document&, const broker_event&,
                     const remote_broker_handle&)>
      approval;
  std::shared_ptr<orchestration::journal> journal;
  // Nothing: ended sessions are not removed (the settings that say which cannot be understood).
  std::optional<orchestration::retention> keep;
};

using supervisor_type =
    supervisor_handle::extend<caf::reacts_to<session_changed>, caf::reacts_to<session_broker>,
                              caf::reacts_to<replay_session>>;

class supervisor_state {
public:
  static inline const char* name = "supervisor";
  using pointer = supervisor_type::stateful_pointer<supervisor_state>;

  explicit supervisor_state(pointer self) : self_(self) {}

  // Makes failed sessions of those that a dead orchestrator left behind.
  void begin(supervisor_services services);

  caf::result<ipc::session_answer> start(const ipc::session_start_params& p);
  caf::result<ipc::session_answer> follow_up(const ipc::session_follow_up_params& p);
  caf::result<ipc::session_answer> handoff(const ipc::session_handoff_params& p);
  caf::result<ipc::session_answer> wait(const ipc::session_wait_params& p);
  caf::result<ipc::session_status_result> status(const ipc::session_status_params& p);
  caf::result<done> abort(const ipc::session_abort_params& p);
  caf::result<done> stop(const ipc::session_stop_params& p);
  caf::result<ipc::session_follow_result> follow(const follow_session& m);
  void unfollow(const unfollow_session& m);
  caf::result<done> stop_everything();

  void changed(const session_changed& m);
  void broker_made(const session_broker& m);
  result<done> replay(const replay_session& m);
  live_count live() const { return {slots_.taken()}; }

private:
  struct live_session {
    session_handle actor; // nothing: it has ended, its broker lives
    bool retires = false; // it takes no more questions: the journal has all of it
    bool broker_lives = false;
  };
  // A session that is to be made.
  struct wish {
    ipc::session_task task;
    ipc::session_worker worker;
    std::string cwd;
    std::string parent_id = {};
    unsigned parent_depth = 0;
    bool ends_with_task = false;
  };

  caf::result<ipc::session_answer> make(wish w);
  result<session_handle> make_session(const wish& w);
  result<session_handle> make_in_slot(const wish& w, orchestration::session_spec spec);
  result<done> may_make(const wish& w) const;
  session_services services_of(const std::string& id,
                               decltype(prepared_worker::start) start_worker) const;

  void look_into_journal();
  result<std::string> find(const std::string& reference);
  session_handle live_actor(const std::string& id) const;
  result<orchestration::session_document> document_of(const std::string& id) const;
  error ended(const std::string& id) const;

  result<ipc::session_status_result> status_after(const ipc::session_status_params& p) const;
  void put(orchestration::session_document d);
  void announce();
  void session_down(const std::string& id);
  void broker_down(const std::string& id);
  void free_if_gone(const std::string& id);
  void forget_old();

  pointer self_;
  supervisor_services services_;
  orchestration::slots slots_;
  watches watches_;
  std::map<std::string, live_session> live_;
  orchestration::session_list sessions_; // of what has ended: summaries
  change_waiters<ipc::session_status_params, ipc::session_status_result> watching_;
  std::vector<replay_handle> replays_;
  std::vector<caf::typed_response_promise<done>> stoppers_; // wait until nothing is alive
  bool stopping_ = false;
};

supervisor_type::behavior_type supervisor_actor(supervisor_state::pointer self,
                                                supervisor_services services);

} // namespace piorch::actors
