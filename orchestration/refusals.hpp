// What a sandbox was refused, and what would allow it: for `piorch why`. Fed with the
// facts of a session's events or with the report of a command. Everything in it came
// out of a sandbox: printed only through report.hpp's printable(). Pure.
#pragma once

#include "config/settings.hpp"

#include <nlohmann/json_fwd.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace piorch::orchestration {

struct refusal {
  bool is_file = false;
  std::string target; // a path, or host:port
  std::string rule;   // the guard's words, or the network's source
  std::string reason; // one sentence
  std::string remedy; // one sentence: what would allow it, or that nothing does
  // The line of the trusted configuration that allows it, as JSON; "": none does.
  std::string setting;
  std::uint64_t count = 0;
  std::string time; // of the first one; "" in a report
};

class refusals {
public:
  // `settings` as they are now, `file` where they were read or would be.
  refusals(const config::settings& settings, std::string file)
      : settings_(settings), file_(std::move(file)) {}

  // An event of a session, with its time: those that are no refusal do not matter.
  void take_event(const nlohmann::json& numbered_event);
  // What `piorch exec --report` wrote, or the result of command.run.
  void take_report(const nlohmann::json& report);

  // Each once, in the order in which they came.
  const std::vector<refusal>& all() const noexcept { return all_; }
  // Further ones that are not in the list, whose length is bounded.
  std::uint64_t left_out() const noexcept { return left_out_; }
  // Events that the journal no longer has.
  std::uint64_t missing() const noexcept { return missing_; }

private:
  void take_file(const nlohmann::json& fact, const std::string& time);
  void take_connection(const nlohmann::json& fact, const std::string& time);
  void add(refusal r);
  void explain_connection(refusal& r, const std::string& host, std::uint16_t port) const;

  const config::settings& settings_;
  std::string file_;
  std::vector<refusal> all_;
  std::uint64_t left_out_ = 0;
  std::uint64_t missing_ = 0;
};

// `of` is what was asked about: "session 01ab…".
std::string refusals_text(const refusals& r, const std::string& of);
nlohmann::json refusals_json(const refusals& r);

} // namespace piorch::orchestration
