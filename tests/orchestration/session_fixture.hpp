// A session as a value, with what it said so far; the test plays its worker.
#pragma once

#include "orchestration/session.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace piorch::orchestration {

inline const std::string id = "0193" + std::string(28, '0');
inline constexpr instant t0{std::chrono::milliseconds{1'795'984'418'711}};

struct session_fixture {
  using json = nlohmann::json;

  session s{make(), t0};
  std::vector<json> events;
  std::vector<json> sent;
  std::vector<answer> answers;
  std::vector<task_id> accepted;
  session_effects last;

  static session_spec make() {
    session_spec spec;
    spec.id = id;
    spec.name = "n";
    spec.cwd = "/w";
    spec.providers = {{"fake", "127.0.0.1", 18080}, {"far", "model.example.org", 443}};
    return spec;
  }
  void take(session_effects e) {
    for (auto& ev : e.events)
      events.push_back(json::parse(ev.json));
    for (auto& l : e.to_worker)
      sent.push_back(json::parse(l));
    for (auto& a : e.answers)
      answers.push_back(a);
    for (auto a : e.accepted)
      accepted.push_back(a);
    last = std::move(e);
  }
  void out(const std::string& bytes) { take(s.worker_output(bytes, t0)); }
  void line(const json& j) { out(j.dump() + "\n"); }
  void submit(task_id t, const std::string& text) {
    auto r = s.submit(t, text, t0);
    ASSERT_TRUE(r) << r.failed().text;
    take(std::move(*r));
  }
  void start() {
    take(s.begin(t0));
    take(s.worker_up(t0));
    line({{"id", "ready"},
          {"type", "response"},
          {"command", "get_state"},
          {"success", true},
          {"data", {{"model", {{"id", "scripted"}, {"provider", "fake"}}}}}});
  }
  void respond(const char* type, const char* disposition) {
    std::string reply_id;
    for (auto& j : sent)
      if (j["type"] == type)
        reply_id = j["id"];
    line({{"id", reply_id},
          {"type", "response"},
          {"command", type},
          {"success", true},
          {"data", {{"disposition", disposition}}}});
  }
  void user(const std::string& text = "x") {
    line({{"type", "message_end"}, {"message", {{"role", "user"}, {"content", text}}}});
  }
  void delta(const std::string& text) {
    line({{"type", "message_update"},
          {"assistantMessageEvent", {{"type", "text_delta"}, {"delta", text}}}});
  }
  void says(const std::string& text, const char* reason = "stop", const char* error = nullptr) {
    json m{{"role", "assistant"},
           {"content", text},
           {"stopReason", reason},
           {"usage", {{"input", 10}, {"output", 2}, {"cost", {{"total", 0.5}}}}}};
    if (error)
      m["errorMessage"] = error;
    line({{"type", "message_end"}, {"message", m}});
  }
  void settled(bool aborted = false) { line({{"type", "agent_settled"}, {"aborted", aborted}}); }
  std::vector<std::string> types() const {
    std::vector<std::string> t;
    for (auto& e : events)
      t.push_back(e["type"]);
    return t;
  }
};

} // namespace piorch::orchestration
