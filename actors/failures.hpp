// Our failures inside CAF's errors: handlers answer a request with refusal(e),
// askers turn whatever came back into an error for the user with why().
#pragma once

#include "actors/caf.hpp"
#include "config/result.hpp"

#include <string>

namespace piorch::actors {

#if PIORCH_CAF_OLD
// Codes are shifted by one: CAF reads a code of 0 as "no error".
inline caf::error refusal(const error& e) {
  return {static_cast<uint8_t>(static_cast<int>(e.code) + 1), caf::atom("piorch"),
          caf::make_message(e.text)};
}
inline bool is_refusal(const caf::error& e) {
  return e && e.category() == caf::atom("piorch") && e.context().match_elements<std::string>();
}
inline error why(const caf::actor_system& sys, const caf::error& e, const char* who) {
  if (is_refusal(e))
    return {static_cast<failure>(e.code() - 1), e.context().get_as<std::string>(0)};
  if (e == caf::sec::request_timeout)
    return {failure::timed_out, std::string("the ") + who + " did not answer in time"};
  return {failure::fault, std::string("the ") + who + " has failed: " + text(sys, e)};
}
#endif

} // namespace piorch::actors
