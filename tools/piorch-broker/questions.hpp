// What a person at the terminal is asked, as text. Nothing in it drives the terminal.
#pragma once

#include "sandbox/hand_over.hpp"
#include "sandbox/network/gateway.hpp"

#include <cstdint>
#include <string>

namespace piorch::broker {

struct question {
  std::uint64_t id = 0;
  std::string text;     // whole lines
  std::string to_allow; // "To allow …"
  std::string expected; // what has to be typed for it, in lower case
};

inline constexpr std::uint64_t host_question = UINT64_MAX; // connections count from 1

question about_connection(const sandbox::network::ask_request& to, const std::string& command);
// The complete command, its directory and what leads it to the host.
question about_host(const sandbox::on_host& what);

} // namespace piorch::broker
