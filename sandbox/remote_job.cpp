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

network_entry take_entry(ipc::fields& one) {
  network_entry e;
  e.host = one.text("host");
  e.port = static_cast<std::uint16_t>(one.count("port", UINT16_MAX));
  e.decision = one.text("decision");
  e.source = one.text("source");
  return e;
}

refused_entry take_refused(ipc::fields& one) { return {one.text("path"), one.text("rule")}; }

template <class Entry>
std::vector<Entry> take_all(ipc::fields& in, const char* name, Entry (*take)(ipc::fields&)) {
  std::vector<Entry> out;
  const auto* list = in.find(name);
  if (!list || !list->is_array())
    return out;
  for (const auto& item : *list) {
    ipc::fields one(item, std::string(name) + ".");
    out.push_back(take(one));
    in.absorb(one);
  }
  return out;
}

template <class Entry> result<Entry> read_one(std::string_view text, Entry (*take)(ipc::fields&)) {
  json body;
  if (auto parsed = ipc::parse_json(text, body); parsed.fault != ipc::json_fault::none)
    return not_understood("event of the broker", parsed.text);
  ipc::fields in(body);
  auto out = take(in);
  if (in.failed())
    return not_understood("event of the broker", in.failure_of().text);
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
                          {"onHost", job.on_host},
                          {"sessionId", job.session_id},
                          {"commandId", job.command_id},
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
  job.on_host = in.flag("onHost");
  job.session_id = in.text("sessionId");
  job.command_id = in.text("commandId");
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
  r.network = take_all(in, "network", take_entry);
  r.refused_paths = take_all(in, "refusedPaths", take_refused);
  if (in.failed())
    return not_understood("report of the broker", in.failure_of().text);
  return r;
}

std::string refused_text(const refused_entry& r) {
  return ipc::write_json({{"path", r.path}, {"rule", r.rule}});
}

result<refused_entry> read_refused(std::string_view text) { return read_one(text, take_refused); }

result<network_entry> read_entry(std::string_view text) { return read_one(text, take_entry); }

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
