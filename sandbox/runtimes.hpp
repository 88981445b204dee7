// Where Node.js and Pi are installed, as far as a sandbox must see them. Looked
// up through the caller's PATH for reading only; nothing found here is ever run
// on the host, and entries inside `workspace` (if one is given) do not count.
#pragma once

#include <optional>
#include <string>
#include <vector>

namespace piorch::sandbox {

struct runtime_path {
  std::string path; // absolute
  std::string reason;
};

// `never_show`: directories so private that no installation prefix may contain them.
std::vector<runtime_path> find_runtimes(const std::string& search_path,
                                        const std::string& workspace,
                                        const std::vector<std::string>& never_show);

// The first executable of that name on `search_path` (absolute entries outside
// `workspace` only), as written, not resolved.
std::optional<std::string> find_program(const std::string& name, const std::string& search_path,
                                        const std::string& workspace);

} // namespace piorch::sandbox
