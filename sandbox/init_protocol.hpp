// What a broker and piorch-init (PID 1 of its sandbox) say to each other over
// their SOCK_SEQPACKET pair, and the layout of the job that init carries out.
//
//   init   -> broker  up           init runs; the broker learns its pid from the credentials
//   broker -> init    job          sent at once; one descriptor: a sealed memfd with the records
//   below init   -> broker  listeners    descriptors of the listening sockets, in the job's order
//   init   -> broker  started      the command runs
//   init   -> broker  refused_path the guard said no (text: path NUL rule)
//   init   -> broker  stopped      the command was stopped (terminal job control)
//   init   -> broker  held         a: 1 when nothing but init itself runs any more
//   init   -> broker  exited       status and usage; init leaves right after it
//   init   -> broker  failed       nothing was started (text: why)
//   broker -> init    signal       deliver to the command
//   broker -> init    terminate    SIGTERM to everything in the sandbox
//   broker -> init    resume       continue a stopped command; a: 1 in the foreground again
//   broker -> init    hold         stop every process of the sandbox
//   broker -> init    release      continue those that hold stopped
//
// End of file on either side means that the other process is gone: init then
// exits, and with it every process of its PID namespace.
//
// Shared by a program without exceptions, so plain structs and constants only.
// Both ends are of one build; nothing inside the sandbox can reach this socket.
#pragma once

#include <cstddef>
#include <cstdint>

namespace piorch::sandbox::init {

inline constexpr unsigned max_listeners = 72; // two proxies in IPv4 and local ports in both
inline constexpr std::size_t max_text = 4096 + 256;

enum class message : std::uint32_t {
  up = 1,
  job,
  listeners,
  started,
  refused_path,
  stopped,
  exited,
  failed,
  signal,
  terminate,
  resume,
  hold,
  release,
  held,
};

// Where a failed start stopped; decides the exit status (125, 126, 127).
// guard: the kernel cannot do what a guard_on record asks for; b says why.
enum class stage : std::uint32_t { setup = 1, directory, exec, guard };

struct header {
  message what{};
  std::uint32_t a = 0; // listeners: count; signal: number; exited: wait status; failed: stage
  std::uint32_t b = 0; // failed: errno
  std::uint32_t text_bytes = 0;   // that many bytes follow the struct
  std::uint64_t cpu_us = 0;       // exited: user and system time of all reaped processes
  std::uint64_t peak_rss_kib = 0; // exited: the largest process
  std::uint64_t started_us = 0;   // started: CLOCK_MONOTONIC
};

// A job is a sequence of records, each a record_head followed by its bytes,
// padded to 8. An unknown tag is an error.
enum class tag : std::uint32_t {
  end = 0,
  argument = 1,    // one per argument, with NUL
  environment,     // one per variable, NAME=VALUE with NUL
  directory,       // working directory, with NUL
  root,            // root_record + absolute path with NUL: a writable tree
  mount,           // mount_record + path with NUL, relative to its root
  filter,          // seccomp program (array of sock_filter), installed by the command
  listener,        // listener_record
  limit_processes, // u64
  limit_data,      // u64, bytes of private writable memory of one process
  signal_mask,     // u64, the caller's blocked signals, for the command
  ignored_signals, // u64, the signals that the caller ignored (nohup), likewise
  terminal,        // u64, descriptor 0…2 of the terminal whose foreground the command gets
  // 100…199 belong to the create guard (sandbox/guard).
  guard_first = 100,
  guard_on = 100,   // no bytes: the command runs under the create guard or not at all
  guard_rule = 101, // guard_record + absolute path with NUL
  guard_last = 199,
};

struct record_head {
  tag what{};
  std::uint32_t bytes = 0; // without padding
};

struct root_record {
  std::uint64_t device = 0; // what the broker pinned; anything else there is an error
  std::uint64_t inode = 0;
};

enum mount_flags : std::uint32_t {
  mount_pin = 0,       // can be neither renamed nor removed
  mount_read_only = 1, // and not written
};

struct mount_record {
  std::uint32_t root = 0; // index of its root record
  std::uint32_t flags = 0;
};

enum class guard_kind : std::uint32_t {
  absent = 1, // nothing may come into being under this name
  directory,  // only a directory, made by mkdir and never renamed (a work tree's .git)
  kept,       // not written, moved or replaced; may be removed (a linked work tree's .git)
  plain,      // only directories and regular files come into being below it
  // The path behind the base is relative to the top of any work tree: it and .git never come
  // together.
  in_trees,
  in_linked_trees, // only where .git is a file
};

struct guard_record {
  guard_kind kind{};
  std::uint32_t base_bytes = 0; // of the path: a writable tree's root
};

struct listener_record {
  std::uint16_t port = 0;
  std::uint16_t v6 = 0; // 0: 127.0.0.1, 1: ::1
  std::uint32_t reserved = 0;
};

} // namespace piorch::sandbox::init
