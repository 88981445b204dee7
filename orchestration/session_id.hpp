// Names of sessions: the id we give, the name a user may give, and how a
// reference from the command line finds one. Pure.
#pragma once

#include "config/result.hpp"
#include "orchestration/instant.hpp"

#include <array>
#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace piorch::orchestration {

// 32 lower-case hex digits: 48 bits of milliseconds, 80 random bits. Sorts by
// time of creation, and is safe as a file name.
std::string make_session_id(instant now, const std::array<std::uint8_t, 10>& random);

bool is_session_id(std::string_view text) noexcept;

// 1-64 letters, digits, '.', '_', '-', beginning with a letter or digit, and
// nothing that reads as (the beginning of) an id. failure::usage otherwise.
result<done> check_session_name(std::string_view name);

// What a look-up needs to know of a session.
struct session_entry {
  std::string id;
  std::string name; // empty: none
  bool live = false;
};

// The id of the one session that `reference` means: its id, the name of a live
// session, the name of the youngest ended one, or a prefix (4 digits and more)
// of exactly one id. failure::unknown_session otherwise, with the reason.
result<std::string> find_session(const std::vector<session_entry>& sessions,
                                 std::string_view reference);

} // namespace piorch::orchestration
