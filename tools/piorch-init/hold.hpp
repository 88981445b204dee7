// Stops the whole sandbox for as long as a person is asked something, so that nothing
// in it can write on the terminal, change its settings or read the answer.
#pragma once

namespace piorch::init {

// Stops every process but this one and waits until they have stopped. False when one
// has not within about a second: then nobody may be asked.
bool hold_everything();

// Continues them, except those that were stopped before.
void release_everything();

bool is_held();

} // namespace piorch::init
