// What a command learns about the machine and the user before it does anything.
#pragma once

#include "sandbox/surroundings.hpp"

namespace piorch::cli {

using sandbox::absolute;
using sandbox::look_around;
using sandbox::surroundings;

} // namespace piorch::cli
