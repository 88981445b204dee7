// May this sandbox connect there? The order of the contract, section 8: denied
// list, allowed list, otherwise somebody is asked; a denial that somebody gave
// is remembered for a short while. Pure: time comes in as an argument, nothing
// is looked up. One object per sandbox, one thread.
#pragma once

#include "config/patterns.hpp"
#include "sandbox/network/host_name.hpp"

#include <chrono>
#include <map>
#include <string>
#include <vector>

namespace piorch::sandbox::network {

// The patterns of one list and where they were written ("--deny-domain",
// "network.deniedDomains in FILE"): the origin is repeated in refusals.
struct rule_list {
  std::vector<config::domain_pattern> patterns;
  std::string origin;
};

struct rule_set {
  std::vector<rule_list> denied;
  std::vector<rule_list> allowed;
  std::string trusted_file; // named in the remedy; may be empty
};

enum class verdict { allow, deny, ask };

// The `source` of contract 3 ("network":[{host,port,decision,source}]).
namespace source {
inline constexpr const char* denied_list = "deniedDomains";
inline constexpr const char* allowed_list = "allowedDomains";
inline constexpr const char* host_name = "hostName"; // not a public host name
inline constexpr const char* protocol = "protocol";  // no request that the proxies take
inline constexpr const char* address = "address";    // resolved to what is never dialled
inline constexpr const char* approval = "approval";  // somebody answered
inline constexpr const char* remembered = "earlierDenial";
inline constexpr const char* timeout = "approvalTimeout";  // nobody answered in time
inline constexpr const char* nobody = "noApprover";        // nobody could be asked
inline constexpr const char* too_many = "tooManyRequests"; // as many as may wait did already
inline constexpr const char* left = "approverLeft"; // whoever was asked went without an answer
inline constexpr const char* local_port = "allowedLocalPorts";
} // namespace source

struct decision {
  verdict what = verdict::ask;
  std::string source;
  std::string reason; // of a denial: one sentence, which rule
  std::string remedy; // of a denial: what would allow it; "" when nothing does
};

// The sentence that tells which line of configuration or option allows a host.
std::string remedy_for(const destination& to, const rule_set& r);

class decisions {
public:
  using clock = std::chrono::steady_clock;

  explicit decisions(rule_set r) : rules_(std::move(r)) {}

  // Not remembered by itself: asking twice gives the same answer.
  decision judge(const destination& to, clock::time_point now);

  // Somebody said no, or was silent: the same host and port is denied for
  // limits::remembered_denial without asking again.
  void remember_denial(const destination& to, std::string source, std::string reason,
                       clock::time_point now);

  const rule_set& rules() const { return rules_; }
  std::size_t remembered() const { return denials_.size(); }

private:
  struct denial {
    clock::time_point until;
    std::string source;
    std::string reason;
  };
  rule_set rules_;
  std::map<destination, denial> denials_; // at most limits::remembered_denials
};

} // namespace piorch::sandbox::network
