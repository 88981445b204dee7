// Where a protected name leads when it, or what lies in it, is a link: who writes what a link
// leads to has written the protected name. Any thread.
#pragma once

#include "sandbox/protected_paths.hpp"

#include <string>
#include <string_view>
#include <vector>

namespace piorch::sandbox {

enum class entries { left, followed };

// Of `path` (absolute, perhaps outside): every link on the way in the workspace (another one in
// its place would lead elsewhere) and what it leads to in the end, there or not. The paths are
// relative to the workspace. When it leads to a directory, `followed` adds the same for the links
// in that, to a few levels and a bounded number; what lies in the directory itself is not listed.
void add_followed(const std::string& workspace, const std::string& path, std::string_view reason,
                  entries of_directory, std::vector<protected_path>& out);

// A command may have closed it so that the next one is not kept from what is in it.
inline constexpr const char* closed_directory = "cannot be looked into, so all of it is protected";

} // namespace piorch::sandbox
