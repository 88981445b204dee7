// All typed actors, a line for each message they take (actors/messages.hpp says
// who sends it).
#pragma once

#include "actors/messages.hpp"

namespace piorch::actors {

// Wraps the process tree of one sandbox: decides what happens to it.
using sandbox_handle = caf::typed_actor<caf::reacts_to<init_said>, caf::reacts_to<tree_gone>,
                                        caf::reacts_to<end_sandbox>, caf::reacts_to<deliver_signal>,
                                        caf::reacts_to<resume_command>, caf::reacts_to<grace_over>,
                                        caf::reacts_to<time_limit_reached>>;

// Owns one sandbox from start to clean-up, in a process of its own.
using broker_handle =
    caf::typed_actor<caf::reacts_to<sandbox_started>, caf::reacts_to<sandbox_listening>,
                     caf::reacts_to<sandbox_stopped>, caf::reacts_to<path_refused>,
                     caf::reacts_to<sandbox_ended>, caf::reacts_to<end_sandbox>,
                     caf::reacts_to<deliver_signal>, caf::reacts_to<resume_command>>;

} // namespace piorch::actors
