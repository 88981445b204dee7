// Private files of the journal: an owned descriptor and the few operations on
// it, each checked. Never follows a symbolic link; files are 0600, directories
// 0700. Movable; one owner.
#pragma once

#include "config/result.hpp"

#include <cstdint>
#include <string>
#include <string_view>
#include <utility>

namespace piorch::orchestration {

class file {
public:
  file() = default;
  file(file&& other) noexcept : fd_(std::exchange(other.fd_, -1)) {}
  file& operator=(file&& other) noexcept {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~file();

  // `name` below directory `dir` (AT_FDCWD for a path of its own).
  static result<file> open(int dir, const std::string& name, int flags);
  // Opens a directory, making it when it is missing.
  static result<file> make_directory(int dir, const std::string& name);
  static result<file> open_directory(int dir, const std::string& name);

  int fd() const noexcept { return fd_; }
  explicit operator bool() const noexcept { return fd_ >= 0; }

  // All of it, or an error and the file ends where it ended before (a disk that
  // is full must not leave half a line). For files only this owner appends to.
  result<done> append(std::string_view bytes, std::uint64_t size_before);
  // Up to bytes.size(); 0 at the end.
  result<std::size_t> read_at(std::uint64_t offset, char* into, std::size_t size) const;
  result<std::uint64_t> size() const;
  // An exclusive lock that ends with the last holder of this descriptor.
  // False: somebody else has it.
  result<bool> try_lock() const;

private:
  explicit file(int fd) noexcept : fd_(fd) {}
  int fd_ = -1;
};

// The whole file; failure::fault when missing or longer than `limit`.
result<std::string> read_file(int dir, const std::string& name, std::size_t limit);

// Replaces a file as a whole: readers see the old one or the new one.
result<done> replace_file(int dir, const std::string& name, std::string_view bytes);

// `path` is the directory or below it; as text, both absolute. Nothing is inside "".
bool is_inside(std::string_view path, std::string_view directory);

// "open events.jsonl: No space left on device", from errno.
error system_error(const std::string& what);

} // namespace piorch::orchestration
