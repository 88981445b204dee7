#include "sandbox/remote_question.hpp"

#include "config/limits.hpp"
#include "config/text.hpp"
#include "ipc/fields.hpp"
#include "ipc/json_text.hpp"

#include <nlohmann/json.hpp>

namespace piorch::sandbox {

using nlohmann::json;

namespace {

constexpr std::size_t source_bytes = 64;
constexpr std::size_t reason_bytes = 1000;

error not_understood(const std::string& why) {
  return {failure::fault, "a question of the broker or its answer is not understood: " + why};
}

// Hands the fields to `take`; what is missing or wrong comes out as the error.
template <class T, class Function> result<T> read(std::string_view text, Function take) {
  json body;
  if (auto parsed = ipc::parse_json(text, body); parsed.fault != ipc::json_fault::none)
    return not_understood(parsed.text);
  ipc::fields in(body);
  T out = take(in);
  if (in.failed())
    return not_understood(in.failure_of().text);
  return out;
}

} // namespace

std::string question_text(const remote_question& q) {
  return ipc::write_json(
      {{"id", q.id}, {"destination", q.destination}, {"timeLimitMs", q.time_limit.count()}});
}

result<remote_question> read_question(std::string_view text) {
  return read<remote_question>(text, [](ipc::fields& in) {
    constexpr std::chrono::milliseconds longest = limits::approval_timeout_max;
    remote_question q;
    q.id = in.id("id");
    q.destination = in.text("destination");
    q.time_limit = std::chrono::milliseconds(
        in.count("timeLimitMs", static_cast<std::uint64_t>(longest.count())));
    return q;
  });
}

std::string withdrawal_text(const std::string& id) { return ipc::write_json({{"id", id}}); }

result<std::string> read_withdrawal(std::string_view text) {
  return read<std::string>(text, [](ipc::fields& in) { return in.id("id"); });
}

std::string answer_text(const remote_answer& a) {
  return ipc::write_json({{"id", a.id},
                          {"allow", a.allow},
                          {"source", config::printable(a.source, source_bytes)},
                          {"reason", config::printable(a.reason, reason_bytes)}});
}

result<remote_answer> read_answer(std::string_view text) {
  return read<remote_answer>(text, [](ipc::fields& in) {
    remote_answer a;
    a.id = in.id("id");
    a.allow = in.flag("allow");
    a.source = in.text("source");
    a.reason = in.text("reason");
    return a;
  });
}

} // namespace piorch::sandbox
