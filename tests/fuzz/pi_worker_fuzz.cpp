// fuzz: orchestration config
// The input is a worker's stdout; its first byte says in which pieces it comes.
#include "orchestration/json_text.hpp"
#include "orchestration/session.hpp"
#include "tests/fuzz/require.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <cstdint>
#include <map>

using namespace piorch;
using namespace piorch::orchestration;

namespace {

struct seen {
  std::vector<std::string> events;
  std::vector<std::string> to_worker;
  std::map<task_id, int> answers;
  session_state state = session_state::starting;
};

void take(seen& all, session_effects e) {
  for (auto& event : e.events) {
    PIORCH_REQUIRE(!event.json.empty() && event.json.find('\n') == std::string::npos);
    PIORCH_REQUIRE(
        parse(event.json, 2 * limits::worker_json_depth, 2 * limits::worker_json_values));
    all.events.push_back(std::move(event.json));
  }
  for (auto& line : e.to_worker) {
    PIORCH_REQUIRE(line.find('\n') == line.size() - 1);
    const auto j = parse(std::string_view(line).substr(0, line.size() - 1), 8, 1000);
    PIORCH_REQUIRE(j && j->is_object()); // Pi dies of null
    all.to_worker.push_back(std::move(line));
  }
  for (const auto& a : e.answers) {
    ++all.answers[a.task];
    if (a.outcome)
      PIORCH_REQUIRE(!a.outcome->empty());
    else
      PIORCH_REQUIRE(!a.outcome.failed().text.empty());
  }
}

seen play(std::string_view bytes, std::size_t piece) {
  const instant now{std::chrono::milliseconds{1'000'000}};
  seen all;
  session_spec spec;
  spec.id = std::string(32, 'a');
  session s(std::move(spec), now);
  take(all, s.begin(now));
  const auto submit = [&](task_id id, const char* text) {
    if (auto e = s.submit(id, text, now))
      take(all, std::move(*e));
    else
      ++all.answers[id];
  };
  submit(1, "one");
  take(all, s.worker_up(now));
  submit(2, "two");
  while (!bytes.empty()) {
    const auto n = std::min(piece, bytes.size());
    take(all, s.worker_output(bytes.substr(0, n), now));
    bytes.remove_prefix(n);
  }
  PIORCH_REQUIRE(is_live(s.document().state));
  take(all, s.expire(2, 1, now));
  submit(3, "three");
  take(all, s.abort(now));
  take(all, s.worker_gone({}, now));
  all.state = s.document().state;
  return all;
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  if (size == 0)
    return 0;
  const std::string_view input(reinterpret_cast<const char*>(bytes) + 1, size - 1);
  const auto pieces = play(input, std::size_t{bytes[0]} + 1);
  const auto whole = play(input, input.size() + 1);
  // The conversation does not depend on how the bytes were cut.
  PIORCH_REQUIRE(pieces.events == whole.events);
  PIORCH_REQUIRE(pieces.to_worker == whole.to_worker);
  PIORCH_REQUIRE(pieces.answers == whole.answers);
  // Every task is answered, and once.
  for (task_id t = 1; t <= 3; ++t)
    PIORCH_REQUIRE(pieces.answers.at(t) == 1);
  PIORCH_REQUIRE(pieces.state == session_state::failed);
  return 0;
}
