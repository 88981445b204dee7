// How the host's Git reads an index: with object ids of SHA-1 or SHA-256, which is not said in the
// index but in the settings of the repository. An index is checked for what its repository says
// now, and the settings may turn to SHA-256 only while every index would be harmless then, too.
//
// Any thread.
#pragma once

namespace piorch::sandbox::guard {

// Of an index in this directory (a Git directory, or that of a linked work tree). Right as long as
// the settings_lock is held.
bool may_read_as_sha256(int directory);

// The creation_lock of the directory whose config says how an index in `directory` is read, if
// that is another one; -1 if there is none, or -errno. Taken after that of `directory`.
int settings_lock(int directory);

// Would every index in D and its work trees still be harmless if D/config said SHA-256? Under the
// creation_lock of D.
bool may_become_sha256(int directory);

} // namespace piorch::sandbox::guard
