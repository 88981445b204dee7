// A directory that is this user's alone, for sockets and journals. Any thread.
#pragma once

#include "config/result.hpp"

#include <string>

namespace piorch::config {

// Makes sure that `path` (absolute) is a directory owned by the effective user
// with mode 0700. Missing parents are not made: they are not ours to make. An existing
// directory of ours with wider permissions is narrowed. A link, another kind of
// file or somebody else's directory in that place is failure::fault: in a shared
// temp dir anybody could have put it there first. Errors name `variable`, which chooses
// another place.
result<done> make_private_directory(const std::string& path,
                                    const std::string& variable = "XDG_RUNTIME_DIR");

} // namespace piorch::config
