#include "sandbox/report.hpp"

#include <nlohmann/json.hpp>

namespace piorch::sandbox {

namespace {

using nlohmann::ordered_json;

ordered_json json_of(const network_entry& e) {
  return {{"host", e.host}, {"port", e.port}, {"decision", e.decision}, {"source", e.source}};
}

// ASCII only: DEL and the C1 controls of a hostile name would drive a terminal. DEL is
// the one control character that JSON and its writer leave alone.
std::string text_of(const ordered_json& j) {
  std::string out;
  for (const char c : j.dump(-1, ' ', true, ordered_json::error_handler_t::replace))
    if (c == '\x7f')
      out += "\\u007f";
    else
      out += c;
  return out;
}

} // namespace

std::string entry_text(const network_entry& e) { return text_of(json_of(e)); }

std::string report_json(const exec_report& r) {
  const auto ms = [](std::chrono::microseconds t) {
    return static_cast<double>(t.count()) / 1000.0;
  };
  ordered_json network = ordered_json::array();
  for (const network_entry& e : r.network)
    network.push_back(json_of(e));
  ordered_json refused = ordered_json::array();
  for (const refused_entry& e : r.refused_paths)
    refused.push_back({{"path", e.path}, {"rule", e.rule}});
  ordered_json j{{"exitCode", r.how.exit_code},
                 {"signal", nullptr},
                 {"timedOut", r.how.timed_out},
                 {"durationMs", ms(r.duration)},
                 {"setupMs", ms(r.setup)},
                 {"cpuSeconds", r.how.cpu_seconds},
                 {"peakRssBytes", r.how.peak_rss_bytes},
                 {"network", std::move(network)},
                 {"refusedPaths", std::move(refused)}};
  if (r.how.signal != 0)
    j["signal"] = r.how.signal;
  if (r.ran_on_host)
    j["ranOnHost"] = true;
  if (r.out_of_memory)
    j["outOfMemory"] = true;
  if (!r.how.problem.empty())
    j["error"] = r.how.problem;
  return text_of(j) + "\n";
}

} // namespace piorch::sandbox
