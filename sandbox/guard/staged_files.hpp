// Git settings, and the files that Git believes (state_file), that a program opens for writing
// directly instead of through a lock file (Git libraries, cp, tar, shells): it gets a nameless
// copy (memory_file where need be), and when that is closed its text is checked and put in place as
// a whole (config_file). The file itself is never open for writing. Of those who wrote, the next of
// the guarded calls of anybody is served after that (catch_up; not where fs.leases-enable is 0):
// Git reads back what it wrote only after one.
//
// Contract: what the program sees is a file like any other, except that a setting
// which is refused leaves everything as it was, with a line in the report and no errno (close
// has none for that; a `.git` file that the open made is gone again), and that a reader can see
// the former text for a moment after the close, if no guarded call was made in between.
// At most 32 at a time; another open waits a second for one of them, and is refused then. The
// attack: writing on after the check; the text that is checked is a copy of our own by then.
//
// Locks: the mutex comes after `deeds` and before creation_lock and the gate of git_file_places, so
// whoever holds one of those two opens nothing here.
//
// Any thread. The first use starts a thread that waits for the copies to be closed.
#pragma once

#include "ipc/unique_fd.hpp"
#include "sandbox/guard/config_file.hpp"
#include "sandbox/guard/refusal.hpp"
#include "sandbox/guard/state_file.hpp"

#include <atomic>
#include <pthread.h>
#include <string>

namespace piorch::sandbox::guard {

class staged_files {
public:
  staged_files(int proc, git_file_places& places, refusal_sink sink)
      : proc_(proc), places_(places), sink_(sink) {}

  // A descriptor for the caller of D/name opened with `flags`, `impossible` or another -errno.
  // With O_CREAT the file is made first, empty, with the calling thread's umask; it is gone again
  // when the call fails.
  static constexpr int impossible = -EUSERS;
  int open(int directory, const std::string& name, int flags, mode_t mode);

  // Puts in place whatever has no writer any more. Before each call: one load when there is
  // nothing.
  void catch_up();

  // Held while a copy is handed over: until that is done it seems to have another writer.
  pthread_mutex_t& looking() { return mutex_; }

  // At the end of the command, when nobody writes any more: puts in place what is left.
  void settle();

private:
  static constexpr int at_most = 32;
  struct entry {
    int watch = -1; // negative: free
    int looks = 0;  // left, after a close was told, for the kernel to count the writer out
    ipc::unique_fd directory, text;
    std::string name;
    copied_file was;
    bool made = false; // by the open, empty
  };

  state_file kind_of(int directory, const std::string& name) const; // none: settings
  int open_copy(int directory, const std::string& name, int flags, bool made);
  entry* free_entry(); // under the mutex
  bool start();        // the first time; under the mutex
  int add(int directory, const std::string& name, ipc::unique_fd text, copied_file was, bool made);
  bool put_in_place(entry& e); // false: refused
  void finish(entry& e);       // puts it in place for the last time
  void look(entry& e);
  int milliseconds_to_next_look() const;
  static void* wait_for_ends(void* self);

  const int proc_;
  git_file_places& places_;
  const refusal_sink sink_;
  pthread_mutex_t mutex_ = PTHREAD_MUTEX_INITIALIZER;
  ipc::unique_fd events_;
  entry entries_[at_most];
  std::atomic<int> in_use_{0}; // of them; changed under the mutex
};

} // namespace piorch::sandbox::guard
