#include "sandbox/remote_job.hpp"

#include "ipc/fields.hpp"
#include "ipc/json_text.hpp"

#include <cmath>
#include <nlohmann/json.hpp>

namespace piorch::sandbox {

using nlohmann::json;

namespace {

error not_understood(const std::string& what, const std::string& why) {
  return {failure::fault, "the " + what + " is not understood: " + why};
}

std::vector<network_entry> read_network(ipc::fields& in) {
  std::vector<network_entry> out;
  const auto* list = in.find("network");
  if (!list || !list->is_array())
    return out;
  for (const auto& item : *list) {
    ipc::fields one(item, "network.");
    network_entry e;
    e.host = one.text("host");
    e.port = static_cast<std::uint16_t>(one.count("port", UINT16_MAX));
    e.decision = one.text("decision");
    e.source = one.text("source");
    in.absorb(one);
    out.push_back(std::move(e));
  }
  return out;
}

} // namespace

std::string job_text(const remote_job& job) {
  return ipc::write_json({{"arguments", job.arguments},
                          {"environment", job.environment},
                          {"directory", job.directory},
                          {"command", job.command},
                          {"timeLimitMs", job.time_limit.count()},
                          {"hasInput", job.has_input},
                          {"ask", job.ask},
                          {"sessionId", job.session_id},
                          {"readable", job.readable},
                          {"filesVariable", job.files.variable},
                          {"files", job.files.texts}});
}

result<remote_job> read_job(std::string_view text) {
  json body;
  if (auto parsed = ipc::parse_json(text, body); parsed.fault != ipc::json_fault::none)
    return not_understood("job", parsed.text);
  ipc::fields in(body);
  remote_job job;
  job.arguments = in.maybe_texts("arguments").value_or(std::vector<std::string>());
  job.environment = in.maybe_texts("environment").value_or(std::vector<std::string>());
  job.directory = in.path("directory");
  job.command = in.text("command");
  job.time_limit =
      std::chrono::milliseconds(static_cast<std::int64_t>(in.count("timeLimitMs", INT64_MAX)));
  job.has_input = in.flag("hasInput");
  job.ask = in.flag("ask");
  job.session_id = in.text("sessionId");
  job.readable = in.maybe_texts("readable").value_or(std::vector<std::string>());
  job.files.variable = in.text("filesVariable");
  job.files.texts = in.maybe_environment("files").value_or(std::map<std::string, std::string>());
  if (job.arguments.empty())
    in.fail("arguments", "an array that begins with the program");
  in.no_others(); // a job that asks for more than we do must not run with less
  if (in.failed())
    return not_understood("job", in.failure_of().text);
  return job;
}

result<remote_report> read_report(std::string_view text) {
  json body;
  if (auto parsed = ipc::parse_json(text, body); parsed.fault != ipc::json_fault::none)
    return not_understood("report of the broker", parsed.text);
  ipc::fields in(body);
  remote_report r;
  r.how.exit_code = in.maybe_int("exitCode").value_or(r.how.exit_code);
  r.how.signal = in.maybe_int("signal").value_or(0);
  r.how.started = true;
  r.how.timed_out = in.flag("timedOut");
  r.how.cpu_seconds = in.real("cpuSeconds");
  r.how.peak_rss_bytes = in.count("peakRssBytes");
  const double duration = in.real("durationMs");
  if (duration >= 0 && duration < 1e15)
    r.duration = std::chrono::milliseconds(std::llround(duration));
  r.network = read_network(in);
  if (in.failed())
    return not_understood("report of the broker", in.failure_of().text);
  return r;
}

std::string refused_text(const refused_entry& r) {
  return ipc::write_json({{"path", r.path}, {"rule", r.rule}});
}

std::string failure_text(const error& why) {
  // Long words of bubblewrap or the kernel are cut: the frame is bounded.
  return ipc::write_json(
      {{"code", static_cast<int>(why.code)}, {"text", why.text.substr(0, 4096)}});
}

error read_failure(std::string_view text) {
  json body;
  ipc::parse_json(text, body);
  const json nothing = json::object();
  ipc::fields in(body.is_object() ? body : nothing);
  const auto code = in.maybe_int("code");
  const std::string why = in.text("text");
  if (in.failed() || !code || *code < 0 || *code > static_cast<int>(failure::unreachable))
    return {failure::fault, "the broker failed without a reason"};
  return {static_cast<failure>(*code), why};
}

} // namespace piorch::sandbox
