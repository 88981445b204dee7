#include "sandbox/guard/lost_answers.hpp"

#include "sandbox/guard/mutex.hpp"

#include <algorithm>
#include <asm/unistd.h>
#include <cstring>

namespace piorch::sandbox::guard {

namespace {

// What a call fails with once it has been carried out.
bool shows_that_it_is_done(int number, int outcome) {
  switch (number) {
#if defined(__x86_64__)
    case __NR_rename:
#endif
#if defined(__NR_renameat)
    case __NR_renameat:
#endif
    case __NR_renameat2:
      return outcome == -ENOENT || outcome == -EEXIST; // RENAME_NOREPLACE
    case __NR_bind:
      return outcome == -EADDRINUSE || outcome == -EINVAL;
    default:
      return outcome == -EEXIST;
  }
}

bool is_same(const seccomp_data& a, const seccomp_data& b) {
  return a.nr == b.nr && a.instruction_pointer == b.instruction_pointer &&
         std::equal(std::begin(a.args), std::end(a.args), std::begin(b.args));
}

} // namespace

void lost_answers::begin(pid_t tid) {
  const locked l(mutex_);
  while (std::count(std::begin(served_), std::end(served_), tid) > 0)
    ::pthread_cond_wait(&served_one_, &mutex_);
  *std::find(std::begin(served_), std::end(served_) - 1, 0) = tid;
}

void lost_answers::end(pid_t tid) {
  const locked l(mutex_);
  std::replace(std::begin(served_), std::end(served_), tid, 0);
  ::pthread_cond_broadcast(&served_one_);
}

lost_answers::entry* lost_answers::of(pid_t tid) {
  const auto found = std::find_if(std::begin(entries_), std::end(entries_),
                                  [tid](const entry& e) { return e.tid == tid; });
  return found == std::end(entries_) ? nullptr : found;
}

void lost_answers::remember(pid_t tid, const seccomp_data& call, const char* path,
                            ipc::unique_fd fd) {
  const locked l(mutex_);
  entry* e = of(tid);
  if (!e)
    e = &entries_[next_++ % at_most];
  *e = {tid, call, path, std::move(fd)};
}

bool lost_answers::take(pid_t tid, const seccomp_data& call, const char* path, int outcome,
                        ipc::unique_fd& fd) {
  const locked l(mutex_);
  entry* e = of(tid);
  if (!e || !is_same(e->call, call) || e->path != path || !shows_that_it_is_done(call.nr, outcome))
    return false;
  fd = std::move(e->fd);
  return true;
}

void lost_answers::forget(pid_t tid) {
  const locked l(mutex_);
  if (entry* e = of(tid))
    *e = entry();
}

} // namespace piorch::sandbox::guard
