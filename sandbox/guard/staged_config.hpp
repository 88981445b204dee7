// Git settings, and the files that Git believes (state_file), that a program opens for writing
// directly instead of through a lock file (Git libraries, cp, tar, shells): it gets a nameless
// copy, and when that is closed its text is checked and put in place as a whole (config_file). The
// file itself is never open for writing.
//
// Contract: what the program sees is a file like any other, except that a setting
// which is refused leaves everything as it was, with a line in the report and no errno (close
// has none for that), and that a reader can see the former text for a moment after the close.
// At most 32 at a time; another open waits a second for one of them, and is refused then. The
// attack: writing on after the check; the text that is checked is a copy of our own by then.
//
// Any thread. The first use starts a thread that waits for the copies to be closed.
#pragma once

#include "ipc/unique_fd.hpp"
#include "sandbox/guard/config_file.hpp"
#include "sandbox/guard/refusal.hpp"

#include <pthread.h>
#include <string>

namespace piorch::sandbox::guard {

class staged_configs {
public:
  staged_configs(int proc, refusal_sink sink) : proc_(proc), sink_(sink) {}

  // A descriptor for the caller of D/name opened with `flags`, `impossible` or another -errno.
  // With O_CREAT the file is made first, empty, with the calling thread's umask; it is gone again
  // when the call fails.
  static constexpr int impossible = -EUSERS;
  int open(int directory, const std::string& name, int flags, mode_t mode);

  // At the end of the command, when nobody writes any more: puts in place what is left.
  void settle();

private:
  static constexpr int at_most = 32;
  struct entry {
    int watch = -1; // negative: free
    int looks = 0;  // left, after a close was told, for the kernel to count the writer out
    ipc::unique_fd directory, text;
    std::string name;
    copied_config was;
  };

  std::size_t most(int directory, const std::string& name) const; // bytes of D/name
  int open_copy(int directory, const std::string& name, int flags);
  entry* free_entry(); // under the mutex
  bool start();        // the first time; under the mutex
  int add(int directory, const std::string& name, ipc::unique_fd text, copied_config was);
  void put_in_place(entry& e);
  void look(entry& e);
  int milliseconds_to_next_look() const;
  static void* wait_for_ends(void* self);

  const int proc_;
  const refusal_sink sink_;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  ipc::unique_fd events_;
  entry entries_[at_most];
};

} // namespace piorch::sandbox::guard
