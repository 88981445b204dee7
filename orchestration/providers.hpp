// Where the model providers of a worker are, so that "Connection error" can be
// said in words that help. Pure.
#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace piorch::orchestration {

struct provider_endpoint {
  std::string provider;
  std::string host; // lower case, brackets of an IPv6 literal removed
  std::uint16_t port = 443;

  bool is_loopback() const; // the host's own: network.allowedLocalPorts decides
};

// The providers of a models.json with the host and port of their baseUrl.
// Entries that are not understood are left out.
std::vector<provider_endpoint> providers_of(std::string_view models_json);

// Host and port of "scheme://[user@]host[:port]/…"; empty host when malformed.
provider_endpoint endpoint_of(std::string_view url);

// Where a connection of the worker was denied, of a report's network entry (JSON text);
// empty host: it was not.
provider_endpoint denied_endpoint(std::string_view network_entry);

// The provider's error, and when it means that the worker could not connect, where that
// was and the line of configuration that would allow it. `model` is "provider/id" or
// empty; `denied` is what the sandbox has refused since the model was asked (empty host:
// nothing), for providers that Pi knows by itself.
std::string explain_model_error(const std::string& message, std::string_view model,
                                const std::vector<provider_endpoint>& providers,
                                const provider_endpoint& denied = {});

} // namespace piorch::orchestration
