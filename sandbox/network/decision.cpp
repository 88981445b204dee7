#include "sandbox/network/decision.hpp"

#include "config/network_limits.hpp"

#include <algorithm>

namespace piorch::sandbox::network {

std::string remedy_for(const destination& to, const rule_set& r) {
  std::string out = "To allow it, a person outside the sandbox can add \"network\": "
                    "{\"allowedDomains\": [\"" +
                    to.host + "\"]}";
  if (!r.trusted_file.empty())
    out += " to " + r.trusted_file;
  else
    out += " to the trusted configuration (piorch config path)";
  return out + ", or run piorch exec with --allow-domain " + to.host + ".";
}

decision decisions::judge(const destination& to, clock::time_point now) {
  for (const auto& list : rules_.denied)
    if (auto* match = config::find_match(list.patterns, to.host, to.port))
      return {verdict::deny, source::denied_list,
              "it matches \"" + match->text() + "\" of " + list.origin,
              "A denied pattern wins over every allowed one; only a person outside the sandbox can "
              "take it out of " +
                  list.origin + "."};
  for (const auto& list : rules_.allowed)
    if (config::find_match(list.patterns, to.host, to.port))
      return {verdict::allow, source::allowed_list, {}, {}};
  auto known = denials_.find(to);
  if (known != denials_.end()) {
    if (now < known->second.until)
      return {verdict::deny, source::remembered,
              known->second.reason + " (less than a minute ago; it is not asked again)",
              remedy_for(to, rules_)};
    denials_.erase(known);
  }
  return {verdict::ask, {}, {}, {}};
}

void decisions::remember_denial(const destination& to, std::string from, std::string reason,
                                clock::time_point now) {
  if (denials_.size() >= limits::remembered_denials && denials_.count(to) == 0) {
    for (auto i = denials_.begin(); i != denials_.end();)
      i = i->second.until <= now ? denials_.erase(i) : std::next(i);
    if (denials_.size() >= limits::remembered_denials) { // full of fresh ones: the oldest goes
      auto oldest = std::min_element(denials_.begin(), denials_.end(), [](auto& a, auto& b) {
        return a.second.until < b.second.until;
      });
      denials_.erase(oldest);
    }
  }
  denials_[to] = {now + limits::remembered_denial, std::move(from), std::move(reason)};
}

} // namespace piorch::sandbox::network
