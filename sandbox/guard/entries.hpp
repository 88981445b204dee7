// What is in a directory, one after the other. No exceptions; any thread.
#pragma once

#include "ipc/unique_fd.hpp"
#include "sandbox/guard/kernel.hpp"

#include <dirent.h>
#include <string_view>

namespace piorch::sandbox::guard {

// Calls each(descriptor of the directory, name) until one answers with less than 0, which is the
// answer then; -EACCES when it cannot be read, or when there are more than `left`, which counts
// down.
template <class Each> int for_each_entry(int directory, std::size_t& left, const Each& each) {
  ipc::unique_fd fd(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  DIR* list = fd ? ::fdopendir(fd.get()) : nullptr;
  if (!list)
    return -EACCES;
  const int own = fd.release();
  int e = 0;
  while (e == 0) {
    errno = 0;
    const dirent* entry = ::readdir(list);
    if (!entry) {
      e = errno != 0 ? -EACCES : 0;
      break;
    }
    const std::string_view name = entry->d_name;
    if (name == "." || name == "..")
      continue;
    e = left-- == 0 ? -EACCES : each(own, entry->d_name);
  }
  ::closedir(list);
  return e;
}

} // namespace piorch::sandbox::guard
