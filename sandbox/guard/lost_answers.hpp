// For kernels before 5.19, where a signal takes a call away while it is carried out: it has been
// carried out by then, and the kernel (SA_RESTART) or the program makes it once more. That one
// gets the answer which the first one did not.
//
// Contract: of each thread the last answer is remembered if it did not arrive, until the next call
// of that thread. It is given when that call is the same (number, registers, path) and fails
// because its work has been done already. What it gives is what the first call was allowed.
// At most 256 threads, the oldest forgotten first; a descriptor is kept for as long.
// A call waits while an earlier one of the same thread is still being carried out.
//
// Any thread.
#pragma once

#include "ipc/unique_fd.hpp"
#include "sandbox/guard/kernel.hpp"

#include <pthread.h>
#include <string>
#include <sys/types.h>

namespace piorch::sandbox::guard {

class lost_answers {
public:
  // Around every call of a thread.
  void begin(pid_t tid);
  void end(pid_t tid);

  // `fd` negative: the call succeeded without one.
  void remember(pid_t tid, const seccomp_data& call, const char* path, ipc::unique_fd fd);
  // Was this outcome of a call that has been made again once a success? Then `fd` is what
  // belongs to it.
  bool take(pid_t tid, const seccomp_data& call, const char* path, int outcome, ipc::unique_fd& fd);
  void forget(pid_t tid);

private:
  static constexpr int at_most = 256, served_at_most = 8;
  struct entry {
    pid_t tid = 0;
    seccomp_data call{};
    std::string path;
    ipc::unique_fd fd;
  };
  entry* of(pid_t tid);

  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  pthread_cond_t served_one_ = PTHREAD_COND_INITIALIZER;
  pid_t served_[served_at_most] = {};
  entry entries_[at_most];
  unsigned next_ = 0;
};

} // namespace piorch::sandbox::guard
