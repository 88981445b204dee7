// The supervisor with its sessions, on a fake clock and with brokers that play a
// worker. Everything but processes is real, the journal too.
#pragma once

#include "actors/supervisor.hpp"

#include "tests/support/actor_test.hpp"
#include "tests/support/temp_dir.hpp"

#include <nlohmann/json.hpp>

#include <deque>
#include <sstream>

namespace piorch::actors {

using nlohmann::json;
using std::chrono::milliseconds;
using std::chrono::seconds;

// What one dummy broker was told.
struct worker {
  remote_broker_handle actor;
  broker_owner_handle owner;
  std::vector<json> lines;
  std::size_t granted = 0;
  bool asked_to_stop = false;
  bool stubborn = false; // does not end when asked to
  bool plays_pi = true;

  std::string id_of(const char* type) const {
    for (auto i = lines.rbegin(); i != lines.rend(); ++i)
      if ((*i)["type"] == type)
        return (*i)["id"];
    return {};
  }
};

inline void say(const worker& w, const json& j) {
  tell(w.owner, broker_output{false, j.dump() + "\n"});
}

inline void says(const worker& w, const std::string& text, const char* reason,
                 const char* failed = nullptr) {
  json m{{"role", "assistant"}, {"content", text}, {"stopReason", reason}};
  if (failed)
    m["errorMessage"] = failed;
  say(w, {{"type", "message_end"}, {"message", m}});
}

// Answers like Pi; tasks that begin with "wait" run until they are aborted.
inline void play(const worker& w, const json& j) {
  const auto type = j["type"].get<std::string>();
  const auto reply = [&](json result) {
    say(w, {{"id", j["id"]},
            {"type", "response"},
            {"command", type},
            {"success", true},
            {"data", std::move(result)}});
  };
  if (type == "get_state")
    reply({{"model", {{"id", "m"}, {"provider", "fake"}}}});
  if (type == "clear_queue")
    reply({{"followUp", json::array()}});
  if (type == "prompt") {
    const auto text = j["message"].get<std::string>();
    reply({{"disposition", "started"}});
    say(w, {{"type", "message_end"}, {"message", {{"role", "user"}, {"content", text}}}});
    if (text.compare(0, 4, "wait") == 0)
      return;
    if (text == "fail")
      says(w, "", "error", "401: bad key");
    else
      says(w, "answer to " + text, "stop");
    say(w, {{"type", "agent_settled"}, {"aborted", false}});
  }
  if (type == "abort") {
    says(w, "", "aborted");
    say(w, {{"type", "agent_settled"}, {"aborted", true}});
    reply(json::object());
  }
}

inline remote_broker_handle::behavior_type dummy_broker(remote_broker_handle::pointer self,
                                                        const std::shared_ptr<worker>& w) {
  tell(w->owner, broker_started{});
  return {
      [=](const send_input& m) {
        w->lines.push_back(json::parse(m.bytes));
        if (w->plays_pi)
          play(*w, w->lines.back());
      },
      [](const close_input&) {},
      [=](const grant_output& m) { w->granted += m.bytes; },
      [](const deliver_signal&) {},
      [](const answer_approval&) {},
      [=](const stop_broker&) {
        w->asked_to_stop = true;
        if (w->stubborn)
          return;
        broker_ended e;
        e.how.signal = 9;
        e.how.started = true;
        e.how.cpu_seconds = 0.5;
        tell(w->owner, e);
        w->owner = nullptr;
        self->quit();
      },
      [](const broker_frame&) {},
      [](const broker_gone&) {},
      [](const broker_overdue&) {},
  };
}

// A follower that takes what it got at once, or when told to.
struct follower_log {
  std::vector<json> events;
  std::size_t untaken = 0;
  caf::actor source;
};

inline caf::behavior follower(caf::event_based_actor* self,
                              const std::shared_ptr<follower_log>& log, bool takes) {
  return {[=](const session_events& m) {
    std::istringstream lines(std::string(m.lines.view()));
    for (std::string line; std::getline(lines, line);)
      log->events.push_back(json::parse(line)["params"]);
    log->untaken += m.lines.size();
    log->source = caf::actor_cast<caf::actor>(self->current_sender());
    if (takes)
      self->send(std::exchange(log->source, nullptr), events_taken{std::exchange(log->untaken, 0)});
  }};
}

struct Supervisor : test::actor_test {
  using answer = std::shared_ptr<pending<ipc::session_answer>>;

  test::temp_dir tmp;
  std::deque<std::shared_ptr<worker>> workers;
  std::optional<error> cannot_prepare, cannot_start;
  bool play_pi = true;
  std::uint8_t counter = 0;
  std::vector<caf::actor> followers;
  supervisor_type boss = make();

  ~Supervisor() override {
    for (auto& f : followers)
      caf::anon_send_exit(f, caf::exit_reason::kill);
    followers.clear();
    for (auto& w : workers)
      end_worker(*w);
    caf::anon_send_exit(boss, caf::exit_reason::kill);
    end_clients();
    boss = nullptr;
    for (auto& w : workers)
      *w = worker();
    run();
  }

  supervisor_type make() {
    supervisor_services s;
    s.now = [this] {
      return orchestration::instant{milliseconds{1'795'984'418'711}} +
             std::chrono::duration_cast<milliseconds>(sys.clock().now().time_since_epoch());
    };
    s.random = [this] {
      std::array<std::uint8_t, 10> r{};
      r[9] = ++counter;
      return r;
    };
    s.prepare_worker = [this](const worker_request&) -> result<prepared_worker> {
      if (cannot_prepare)
        return *cannot_prepare;
      prepared_worker p;
      p.start = [this](const broker_owner_handle& owner) -> result<remote_broker_handle> {
        if (cannot_start)
          return *cannot_start;
        auto w = std::make_shared<worker>();
        w->owner = owner;
        w->plays_pi = play_pi;
        w->actor = sys.spawn(dummy_broker, w);
        workers.push_back(w);
        return w->actor;
      };
      return p;
    };
    auto j = orchestration::journal::open(tmp / "sessions");
    s.journal = std::make_shared<orchestration::journal>(std::move(*j));
    auto b = sys.spawn(supervisor_actor, std::move(s));
    run();
    return b;
  }

  void end_worker(worker& w) {
    if (!w.owner || !w.actor)
      return;
    broker_ended e;
    e.how.started = true;
    e.how.exit_code = 3;
    tell(w.owner, e);
    caf::anon_send_exit(w.actor, caf::exit_reason::user_shutdown);
    w.owner = nullptr;
    run();
  }

  static ipc::session_start_params task(const std::string& text, bool background = false) {
    ipc::session_start_params p;
    p.task = text;
    p.cwd = "/w";
    p.background = background;
    return p;
  }
  answer start(const ipc::session_start_params& p, caf::actor* client = nullptr) {
    return ask_later<ipc::session_answer>(boss, p, client);
  }
  std::string start_live(const std::string& text = "hello") {
    const auto a = start(task(text, true));
    EXPECT_TRUE(a->value) << (a->failed ? a->failed->text : "no answer");
    return a->value ? id_in(a) : "";
  }
  static std::string id_in(const answer& a) { return json::parse(a->value->session)["id"]; }
  answer follow_up(const std::string& id, const std::string& text, caf::actor* client = nullptr) {
    return ask_later<ipc::session_answer>(
        boss, ipc::session_follow_up_params{{text, false, false, {}}, id}, client);
  }
  answer wait(const std::string& id, std::optional<milliseconds> limit = {}) {
    return ask_later<ipc::session_answer>(boss, ipc::session_wait_params{id, limit});
  }
  answer handoff(const std::string& id, const std::string& text) {
    ipc::session_handoff_params p;
    p.session_id = id;
    p.task = text;
    p.background = true;
    return ask_later<ipc::session_answer>(boss, p);
  }
  auto stop(const std::string& id) {
    return ask_later<done>(boss, ipc::session_stop_params{id, false});
  }
  auto abort(const std::string& id) { return ask_later<done>(boss, ipc::session_abort_params{id}); }
  json status(const std::string& id) {
    const auto a = ask_later<ipc::session_status_result>(boss, ipc::session_status_params{id});
    return a->value ? json::parse(a->value->sessions.at(0)) : json(nullptr);
  }
  std::size_t live() { return ask_later<live_count>(boss, count_live{})->value->sessions; }

  std::shared_ptr<follower_log> follow(const std::string& id, std::uint64_t from,
                                       bool takes = true) {
    auto log = std::make_shared<follower_log>();
    followers.push_back(sys.spawn(follower, log, takes));
    const auto r =
        ask_later<ipc::session_follow_result>(boss, follow_session{{id, from}, followers.back()});
    EXPECT_TRUE(r->value);
    return log;
  }
  void take_all(follower_log& log, const caf::actor& who) {
    while (log.untaken > 0) {
      auto source = std::exchange(log.source, nullptr);
      caf::send_as(who, source, events_taken{std::exchange(log.untaken, 0)});
      run();
    }
    log.source = nullptr;
  }
  void tool_call(const worker& w, const std::string& text) {
    say(w, {{"type", "tool_execution_start"}, {"toolName", "t"}, {"args", {{"x", text}}}});
  }
};

} // namespace piorch::actors
