#include "config/paths.hpp"

#include "config/text.hpp"

#include <array>
#include <cerrno>
#include <climits>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <pwd.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace piorch::config {

namespace {

std::optional<std::string> variable(const char* name) {
  const char* value = std::getenv(name);
  return value && *value ? std::optional<std::string>(value) : std::nullopt;
}

bool is_absolute(const std::optional<std::string>& path) { return path && (*path)[0] == '/'; }

std::string normal(std::string_view path) {
  std::string out = std::filesystem::path(path).lexically_normal().native();
  while (out.size() > 1 && out.back() == '/')
    out.pop_back();
  return out;
}

std::string below(const std::string& dir, std::string_view name) {
  return (dir == "/" ? std::string() : dir) + '/' + std::string(name);
}

error not_absolute(const char* name, const std::string& value) {
  return {failure::configuration_invalid,
          std::string(name) + " is " + in_quotes(value) + ": an absolute path is needed"};
}

std::string passwd_home(uid_t uid) {
  std::vector<char> buffer(16384);
  passwd entry{};
  passwd* found = nullptr;
  if (::getpwuid_r(uid, &entry, buffer.data(), buffer.size(), &found) != 0 || !found)
    return {};
  return found->pw_dir ? found->pw_dir : "";
}

} // namespace

path_inputs read_path_inputs() {
  path_inputs in;
  in.home = variable("HOME");
  in.agent_dir = variable("PI_CODING_AGENT_DIR");
  in.runtime_dir = variable("XDG_RUNTIME_DIR");
  in.state_home = variable("XDG_STATE_HOME");
  in.temp_dir = variable("TMPDIR");
  in.uid = ::geteuid();
  in.passwd_home = passwd_home(in.uid);
  if (!is_absolute(in.runtime_dir)) {
    struct stat st {};
    const std::string dir = "/run/user/" + std::to_string(in.uid);
    in.run_user_is_ours =
        ::lstat(dir.c_str(), &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == in.uid;
  }
  return in;
}

result<std::string> agent_directory(const std::string& value, const std::string& home) {
  if (value == "~" || value.compare(0, 2, "~/") == 0)
    return normal(home + value.substr(1));
  if (!is_absolute(value))
    return not_absolute("PI_CODING_AGENT_DIR", value);
  return normal(value);
}

result<paths> resolve_paths(const path_inputs& from) {
  paths out;
  const auto home = from.home && !from.home->empty() ? *from.home : from.passwd_home;
  if (home.empty())
    return error{failure::configuration_invalid,
                 "no home directory: HOME is not set and the user database has none"};
  if (home[0] != '/')
    return not_absolute("HOME", home);
  out.home = normal(home);

  const std::string own_agent_dir = below(out.home, ".pi/agent");
  out.settings_file = below(own_agent_dir, "extensions/pi-sandbox/config.json");
  out.legacy_settings = below(own_agent_dir, "pi-sandbox.json");
  out.agent_dir = own_agent_dir;
  if (from.agent_dir && !from.agent_dir->empty()) {
    auto dir = agent_directory(*from.agent_dir, out.home);
    if (!dir)
      return std::move(dir).failed();
    out.agent_dir = std::move(*dir);
  }

  out.temp_dir = is_absolute(from.temp_dir) ? normal(*from.temp_dir) : "/tmp";
  if (is_absolute(from.runtime_dir))
    out.runtime_dir = below(normal(*from.runtime_dir), "piorch");
  else if (from.run_user_is_ours)
    out.runtime_dir = "/run/user/" + std::to_string(from.uid) + "/piorch";
  else
    out.runtime_dir = below(out.temp_dir, "piorch-" + std::to_string(from.uid));
  out.state_dir = below(is_absolute(from.state_home) ? normal(*from.state_home)
                                                     : below(out.home, ".local/state"),
                        "piorch");
  return out;
}

std::string libexec_dir(std::string_view exe_path) {
  const std::filesystem::path bin = std::filesystem::path(exe_path).parent_path();
  if (bin.filename() == "piorch" && bin.parent_path().filename() == "libexec")
    return normal(bin.native()); // a helper itself
  return normal((bin / ".." / "libexec" / "piorch").native());
}

result<std::string> own_libexec_dir() {
  std::array<char, PATH_MAX> target;
  const ssize_t length = ::readlink("/proc/self/exe", target.data(), target.size());
  if (length <= 0 || static_cast<std::size_t>(length) == target.size())
    return error{failure::fault, std::string("cannot read /proc/self/exe: ") +
                                     (length < 0 ? std::strerror(errno) : "the path is too long")};
  return libexec_dir({target.data(), static_cast<std::size_t>(length)});
}

} // namespace piorch::config
