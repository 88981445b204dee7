// What bubblewrap leaves to us: the mounts inside the writable trees, the
// kernel's own files, the listening sockets, and giving up every privilege.
//
// The mounts are made here because bubblewrap before 0.12 follows links while it
// makes mount points (GHSA-pxhw-h44j-8pfx): a program of another sandbox in the
// same workspace could aim it at any file of the user. Here every path is
// resolved below a pinned root without following any link, the descriptor that
// was resolved is the one that is mounted, and nothing is ever created.
#pragma once

#include "tools/piorch-init/job.hpp"
#include "tools/piorch-init/link.hpp"

namespace piorch::init {

// All of them report a failure through the link and do not return then.
void make_mounts(const job& j, const link& to_broker);
void cover_kernel_files(const job& j, const link& to_broker);
void open_listeners(const job& j, const link& to_broker);
void limit_damage(const job& j);
// Keeps `kept` (a mask of capabilities of the sandbox's own user namespace) in
// this process only; the bounding set ends up empty.
void drop_capabilities(const link& to_broker, unsigned long long kept);

} // namespace piorch::init
