#include "tools/piorch/session_events.hpp"

#include "orchestration/json_text.hpp"
#include "tools/piorch/exit_status.hpp"

#include <nlohmann/json.hpp>
#include <optional>

namespace piorch::cli {

result<int> read_events(found_session& of,
                        const std::function<int(const nlohmann::json& params)>& take) {
  ipc::session_follow_params p;
  p.session_id = orchestration::string_at(of.document, "id");
  auto& peer = of.at.peer;
  const auto asked = peer.request(p);
  std::optional<std::uint64_t> last; // known with the answer
  std::uint64_t seen = 0;
  while (!last || seen < *last) {
    auto in = peer.receive();
    if (!in)
      return std::move(in).failed();
    if (auto answer = ipc::client::answer_to(asked, in->message)) {
      if (!*answer)
        return std::move(*answer).failed();
      const auto next = orchestration::count_at(**answer, "next");
      last = next > 0 ? next - 1 : 0;
    } else if (in->message.method == ipc::session_event_method) {
      const auto& params = in->message.params;
      // A gap counts for all events that it stands for.
      const auto& event = orchestration::member(params, "event");
      seen = std::max(orchestration::count_at(params, "seq"), orchestration::count_at(event, "to"));
      if (const int status = take(params); status != exit_done)
        return status;
    }
  }
  return exit_done;
}

} // namespace piorch::cli
