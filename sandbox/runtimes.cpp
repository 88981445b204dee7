#include "sandbox/runtimes.hpp"

#include "sandbox/files.hpp"

#include <algorithm>
#include <unistd.h>

namespace piorch::sandbox {

namespace {

constexpr const char* node_reason = "the Node.js installation";
constexpr const char* pi_reason = "Pi's package";

// An unpacked Node.js distribution may be shown whole; of any other prefix
// (~/.local, say) only Node's own parts.
void add_node(const std::string& binary, const std::vector<std::string>& never_show,
              std::vector<runtime_path>& out) {
  const std::string prefix = parent_of(parent_of(binary));
  const bool contains_private =
      std::any_of(never_show.begin(), never_show.end(),
                  [&](const std::string& path) { return is_within(path, prefix); });
  if (!contains_private && exists(join(prefix, "include/node/node.h")) &&
      (exists(join(prefix, "CHANGELOG.md")) || exists(join(prefix, "LICENSE")))) {
    out.push_back({prefix, node_reason});
    return;
  }
  out.push_back({binary, node_reason});
  if (contains_private)
    return;
  for (const char* part :
       {"lib/node_modules", "include/node", "bin/npm", "bin/npx", "bin/corepack"})
    if (exists(join(prefix, part)))
      out.push_back({join(prefix, part), node_reason});
}

// The outermost node_modules that holds the package: its dependencies are there.
void add_pi(const std::string& program, std::vector<runtime_path>& out) {
  const auto at = program.find("/node_modules/");
  if (at == std::string::npos || program.find("/pi-coding-agent/") == std::string::npos)
    return;
  out.push_back({program.substr(0, at) + "/node_modules", pi_reason});
}

} // namespace

std::optional<std::string> find_program(const std::string& name, const std::string& search_path,
                                        const std::string& workspace) {
  for (std::size_t at = 0; at <= search_path.size();) {
    const std::size_t end = std::min(search_path.find(':', at), search_path.size());
    const std::string directory = search_path.substr(at, end - at);
    at = end + 1;
    if (directory.empty() || directory.front() != '/')
      continue;
    const std::string path = join(directory, name);
    const auto real = canonical(path);
    if (!real ||
        (!workspace.empty() && (is_within(path, workspace) || is_within(*real, workspace))))
      continue;
    if (::access(real->c_str(), X_OK) == 0 && !is_directory(*real))
      return path;
  }
  return std::nullopt;
}

std::vector<runtime_path> find_runtimes(const std::string& search_path,
                                        const std::string& workspace,
                                        const std::vector<std::string>& never_show) {
  std::vector<runtime_path> out;
  for (const char* name : {"node", "pi"}) {
    const auto link = find_program(name, search_path, workspace);
    if (!link)
      continue;
    const std::string real = canonical(*link).value_or(*link);
    if (name[0] == 'n')
      add_node(real, never_show, out);
    else
      add_pi(real, out);
    if (real != *link) // so that PATH finds it inside as well
      out.push_back({*link, name[0] == 'n' ? node_reason : pi_reason});
  }
  return out;
}

} // namespace piorch::sandbox
