// A policy as a Seatbelt profile (SBPL) for macOS: the same rules, enforced by
// path at each access instead of by mounts. Pure; any thread. Nothing on Linux
// runs it: docs/macos.md says what was checked and what was not.
#pragma once

#include "config/limits.hpp"
#include "config/result.hpp"
#include "sandbox/policy.hpp"

#include <cstdint>
#include <string>

namespace piorch::sandbox {

struct seatbelt_options {
  // Where the broker's proxies listen on the host's loopback: macOS has no
  // network namespaces.
  std::uint16_t http_proxy = limits::http_proxy_port;
  std::uint16_t socks_proxy = limits::socks_proxy_port;
  // The private temporary directory is the profile's parameter PIORCH_TEMP
  // (sandbox-exec -D PIORCH_TEMP=DIR …); false: there is none.
  bool private_temp = true;
};

// The profile of a surveyed policy. As there, a later rule decides over an earlier
// one. failure::sandbox_unavailable when a path that is to be allowed cannot be
// written in a profile (control characters, not UTF-8): a rule that allows is
// exact or missing; one that denies may cover more than was meant.
result<std::string> seatbelt_profile(const policy& p, const seatbelt_options& options = {});

} // namespace piorch::sandbox
