// What all orchestrators know of sessions, as they tell it. Main thread.
#pragma once

#include "orchestration/json_text.hpp"
#include "orchestration/session_document.hpp"
#include "tools/piorch/instance_watch.hpp"

#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace piorch::cli {

inline bool is_live_document(const nlohmann::json& d) {
  const auto state = orchestration::session_state_from(orchestration::string_at(d, "state"));
  return state && is_live(*state);
}

// Each session once: several orchestrators read the same journal, and the one that has
// a session live knows it best.
class session_board {
public:
  instance_watch::list list() {
    return {[](auto after) {
              return ipc::session_status_params{{}, after};
            },
            [this](auto of, const nlohmann::json& answer) { return take(of, answer); }};
  }
  void lost(instance_watch::instance of) { known_.erase(of); }

  std::map<std::string, nlohmann::json> sessions() const {
    std::map<std::string, nlohmann::json> out;
    for (const auto& [of, documents] : known_)
      for (const auto& [id, d] : documents)
        if (out.count(id) == 0 || is_live_document(d))
          out[id] = d;
    return out;
  }

private:
  result<std::uint64_t> take(instance_watch::instance of, const nlohmann::json& answer) {
    auto& mine = known_[of];
    if (orchestration::bool_at(answer, "all"))
      mine.clear();
    for (const auto& d : orchestration::member(answer, "sessions"))
      mine[orchestration::string_at(d, "id")] = d;
    return orchestration::count_at(answer, "revision");
  }

  std::map<instance_watch::instance, std::map<std::string, nlohmann::json>> known_;
};

} // namespace piorch::cli
