// Which variables of the caller's environment are credentials, or addresses of agents that act
// for whoever reaches them, and which of them a worker gets all the same: those of its model's
// provider. The rules are those of the Pi package (tools/pi-extension/src/environment.ts).
// Pure; any thread.
#pragma once

#include "sandbox/environment.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace piorch::sandbox {

bool is_credential(std::string_view name, std::string_view value);

// Whole names, and what names begin with.
struct kept_variables {
  std::vector<std::string> names, beginnings;
};

// Of the variables in which Pi looks for the keys of a provider. `models_json` may name one of its
// own.
kept_variables variables_of_provider(std::string_view provider, std::string_view models_json);

// Takes out every credential but those that are kept.
void remove_credentials(environment& e, const kept_variables& kept);

} // namespace piorch::sandbox
