#include "sandbox/examine.hpp"

#include "config/private_directory.hpp"
#include "config/text.hpp"
#include "sandbox/files.hpp"
#include "sandbox/launch.hpp"
#include "sandbox/runtimes.hpp"
#include "sandbox/scratch.hpp"
#include "sandbox/spawn.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <poll.h>
#include <sched.h>
#include <sstream>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

namespace piorch::sandbox {

namespace {

constexpr std::chrono::seconds trial_limit{10};
constexpr std::size_t small_file_bytes = 256 << 10;

std::optional<long> number_in(const char* path) {
  const auto text = read_small_file(path, 64);
  if (!text || text->empty())
    return std::nullopt;
  return std::atol(text->c_str());
}

std::string distribution() {
  // a link to /usr/lib on most
  const std::string file = canonical("/etc/os-release").value_or("/usr/lib/os-release");
  std::istringstream lines(read_small_file(file, small_file_bytes).value_or(""));
  std::string out;
  for (std::string line; std::getline(lines, line);)
    if (line.compare(0, 3, "ID=") == 0 || line.compare(0, 8, "ID_LIKE=") == 0)
      out += line.substr(line.find('=') + 1) + " ";
  return config::lower_case(out);
}

// 0, or errno of a process that tried. Nothing but system calls between fork and
// exit; posix_spawn has no way to ask for a namespace.
int try_user_namespace() {
  const pid_t child = ::fork();
  if (child == 0)
    ::_exit(::unshare(CLONE_NEWUSER) == 0 ? 0 : errno);
  int status = 0;
  if (child < 0 || ::waitpid(child, &status, 0) != child)
    return errno;
  return WIFEXITED(status) ? WEXITSTATUS(status) : EIO;
}

// What `bwrap --version` says; "" when it does not within a second.
std::string version_of(const std::string& bwrap) {
  const ipc::unique_fd said(::memfd_create("version", MFD_CLOEXEC));
  spawn_request start;
  start.program = bwrap;
  start.arguments = {"bwrap", "--version"};
  start.fds = {-1, said.get(), -1};
  sigemptyset(&start.blocked);
  const auto pid = spawn(start);
  if (!said || !pid)
    return {};
  const ipc::unique_fd handle(static_cast<int>(::syscall(SYS_pidfd_open, *pid, 0)));
  pollfd ended{handle.get(), POLLIN, 0};
  if (!handle || ::poll(&ended, 1, 1000) != 1)
    ::kill(*pid, SIGKILL);
  ::waitpid(*pid, nullptr, 0);
  char text[128]{};
  if (::pread(said.get(), text, sizeof text - 1, 0) <= 0)
    return {};
  const std::string_view line = config::trimmed(text), program = "bubblewrap ";
  return line.substr(0, program.size()) == program ? std::string(line.substr(program.size()))
                                                   : std::string();
}

// The version of the package that a program belongs to; it is read, not run.
std::string package_version(const std::string& program) {
  std::string directory = parent_of(canonical(program).value_or(program));
  for (int up = 0; up < 4 && directory != "/"; ++up, directory = parent_of(directory))
    if (const auto text = read_small_file(join(directory, "package.json"), small_file_bytes)) {
      const auto package = nlohmann::json::parse(*text, nullptr, false);
      if (package.is_object() && package.contains("version") && package["version"].is_string())
        return package["version"].get<std::string>();
      return {};
    }
  return {};
}

std::vector<std::string> missing_in(const std::string& directory,
                                    std::initializer_list<const char*> names) {
  std::vector<std::string> out;
  for (const char* name : names)
    if (::access(join(directory, name).c_str(), X_OK) != 0)
      out.emplace_back(name);
  return out;
}

// Missing directories above it included.
bool can_be_made(std::string path) {
  while (!exists(path) && path != "/")
    path = parent_of(path);
  struct stat st {};
  return ::stat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode) &&
         ::access(path.c_str(), W_OK | X_OK) == 0;
}

machine_facts::directory private_directory(const std::string& path, const char* variable) {
  machine_facts::directory d;
  d.path = path;
  if (const auto made = config::make_private_directory(path, variable); !made) {
    d.error = made.failed().text;
    d.absent = !exists(path);
    if (d.absent && !exists(parent_of(path)) && can_be_made(parent_of(path)))
      d.absent_parent = parent_of(path);
  }
  return d;
}

// The journal makes what is missing above it, too.
machine_facts::directory state_directory(const std::string& path) {
  auto d = private_directory(path, "XDG_STATE_HOME");
  if (!d.absent_parent.empty())
    d.error.clear();
  return d;
}

void look_at_kernel(machine_facts& m) {
  struct utsname about {};
  ::uname(&about);
  m.kernel = about.release;
  m.root = ::geteuid() == 0;
  m.distribution = distribution();
  m.user_namespace_error = try_user_namespace();
  m.max_user_namespaces = number_in("/proc/sys/user/max_user_namespaces");
  m.unprivileged_namespaces = number_in("/proc/sys/kernel/unprivileged_userns_clone");
  m.apparmor_restricts = number_in("/proc/sys/kernel/apparmor_restrict_unprivileged_userns");
  m.covered_proc = covered_proc(read_small_file("/proc/self/mountinfo", 4 << 20).value_or(""));
  m.facilities = find_facilities();
  m.limits = find_limit_mechanisms();
}

} // namespace

std::vector<std::string> covered_proc(const std::string& mountinfo) {
  std::vector<std::string> out;
  std::istringstream lines(mountinfo);
  for (std::string line; std::getline(lines, line);) {
    std::istringstream words(line);
    std::string id, parent, device, root, where;
    words >> id >> parent >> device >> root >> where;
    // A file system of its own that belongs there is no cover.
    if (where.compare(0, 6, "/proc/") == 0 && where != "/proc/sys/fs/binfmt_misc" &&
        where.compare(0, 14, "/proc/fs/nfsd/") != 0 && where != "/proc/fs/nfsd" &&
        std::find(out.begin(), out.end(), where) == out.end())
      out.push_back(where);
  }
  return out;
}

machine_facts examine(const config::paths& paths, const result<config::loaded_settings>& settings,
                      const policy_inputs& from, const std::string& current_directory) {
  machine_facts m;
  look_at_kernel(m);
  if (const auto bwrap = find_bwrap(current_directory)) {
    m.bwrap = *bwrap;
    m.bwrap_version = version_of(*bwrap);
  }
  config::settings values;
  if (settings) {
    values = settings->values;
    m.settings_file = settings->file;
  } else
    m.settings_error = settings.failed().text;
  m.processes = values.limits.processes;
  m.memory_mib = values.limits.memory_mib;

  m.libexec_dir = from.libexec_dir;
  m.missing_helpers = missing_in(from.libexec_dir, {"piorch-init", "piorch-broker"});
  m.missing_session_helpers = missing_in(from.libexec_dir, {"piorch-serve", "piorch-connect"});
  m.temp.path = from.temp_dir;
  if (const auto temp = scratch::make(from.temp_dir); !temp)
    m.temp.error = temp.failed().text;
  m.runtime = private_directory(paths.runtime_dir, "XDG_RUNTIME_DIR");
  m.state = state_directory(paths.state_dir);

  m.sandbox = try_sandbox(
      values, from, {"/bin/cat", "/proc/self/status", "/proc/sys/kernel/pid_max"}, trial_limit);
  m.node = find_program("node", from.search_path, current_directory).value_or("");
  if (!m.node.empty() && m.sandbox.made) {
    const trial node = try_sandbox(values, from, {m.node, "--version"}, trial_limit);
    if (node.made && node.exit_code == 0)
      m.node_version = config::trimmed(node.output);
  }
  m.pi = find_program("pi", from.search_path, current_directory).value_or("");
  if (!m.pi.empty())
    m.pi_version = package_version(m.pi);
  return m;
}

} // namespace piorch::sandbox
