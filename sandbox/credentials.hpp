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

// The names, or (ending in '_') beginnings of names, of the variables in which Pi looks for the
// keys of a provider. `models_json` may name one of its own.
std::vector<std::string> variables_of_provider(std::string_view provider,
                                               std::string_view models_json);

// Takes out every credential but those that `kept` names.
void remove_credentials(environment& e, const std::vector<std::string>& kept);

} // namespace piorch::sandbox
