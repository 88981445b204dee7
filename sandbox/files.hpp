// Small file system reads that never follow a link a worker planted. Any thread.
#pragma once

#include "ipc/unique_fd.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <sys/types.h>

namespace piorch::sandbox {

// realpath(3); nullopt when the path does not lead anywhere.
std::optional<std::string> canonical(const std::string& path);

// lstat(2) of `path`; nullopt when there is nothing.
std::optional<struct stat> look(const std::string& path);

bool is_directory(const std::string& path); // itself, not through a link
bool exists(const std::string& path);       // itself, also a dangling link
bool is_hidden(const std::string& path);    // whether it exists cannot be found out
bool is_open(const std::string& directory); // its entries can be listed and used

// Opens for naming only (O_PATH), no link anywhere in the path. -1 with errno.
ipc::unique_fd open_pinned(const std::string& absolute_path);

// The whole content of a small regular file (at most `limit_bytes`, else nullopt).
std::optional<std::string> read_small_file(const std::string& path, std::size_t limit_bytes);

// `path` is `ancestor` or below it; both absolute, normal, without trailing slash.
bool is_within(std::string_view path, std::string_view ancestor);

// The part of `path` below `ancestor` (which must contain it), "" for itself.
std::string relative_to(std::string_view path, std::string_view ancestor);

std::string parent_of(std::string_view path);
std::string join(std::string_view directory, std::string_view name);

} // namespace piorch::sandbox
