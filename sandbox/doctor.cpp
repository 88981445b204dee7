#include "sandbox/doctor.hpp"

#include "config/text.hpp"

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <nlohmann/json.hpp>
#include <sstream>

namespace piorch::sandbox {

namespace {

constexpr const char* container_options =
    "start the container with --security-opt seccomp=unconfined --security-opt "
    "apparmor=unconfined --security-opt systempaths=unconfined (podman: --security-opt unmask=ALL)";

constexpr const char* apparmor_profile =
    R"(printf 'abi <abi/4.0>,\ninclude <tunables/global>\nprofile bwrap /usr/bin/bwrap )"
    R"(flags=(unconfined) {\n  userns,\n}\n' | sudo tee /etc/apparmor.d/bwrap && )"
    R"(sudo apparmor_parser -r /etc/apparmor.d/bwrap)";

std::string install_command(const std::string& distribution, const std::string& package) {
  struct row {
    const char* id;
    const char* command;
  };
  constexpr row table[] = {
      {"debian", "sudo apt-get install "}, {"ubuntu", "sudo apt-get install "},
      {"fedora", "sudo dnf install "},     {"rhel", "sudo dnf install "},
      {"arch", "sudo pacman -S "},         {"suse", "sudo zypper install "},
      {"alpine", "sudo apk add "},
  };
  for (const row& r : table)
    if (distribution.find(r.id) != std::string::npos)
      return r.command + package;
  return "install the package " + package + " of your distribution";
}

// What Pi's package.json asks for; older ones do not even load it.
constexpr int least_node[] = {22, 19};

bool is_older_node(const std::string& version) {
  int major = 0, minor = 0;
  if (std::sscanf(version.c_str(), "v%d.%d", &major, &minor) != 2)
    return true;
  return major < least_node[0] || (major == least_node[0] && minor < least_node[1]);
}

// The package of the distribution may be as old as what is there.
std::string install_node(const std::string& first) {
  return "install Node.js " + std::to_string(least_node[0]) + '.' + std::to_string(least_node[1]) +
         " or newer, for example: " + first + "sudo npm install -g node@24";
}

std::string joined(const std::vector<std::string>& words) {
  std::string out;
  for (const std::string& word : words)
    out += (out.empty() ? "" : ", ") + word;
  return out;
}

class examination {
public:
  explicit examination(const machine_facts& m) : m_(m) {}

  std::vector<finding> all() {
    bubblewrap();
    namespaces();
    apparmor();
    proc();
    kernel();
    configuration();
    helpers();
    directories();
    runtimes();
    limits();
    sandbox();
    return std::move(out_);
  }

private:
  void ok(const char* name, const std::string& detail) {
    out_.push_back({verdict::ok, name, detail, {}});
  }
  void warn(const char* name, const std::string& detail, const std::string& remedy) {
    out_.push_back({verdict::warning, name, detail, remedy});
  }
  void fail(const char* name, const std::string& detail, const std::string& remedy) {
    out_.push_back({verdict::failed, name, detail, remedy});
  }
  // Bad only if the sandbox could not be made: the trial knows better than a rule.
  void suspect(const char* name, const std::string& detail, const std::string& remedy) {
    out_.push_back({m_.sandbox.made ? verdict::warning : verdict::failed, name, detail, remedy});
  }

  void bubblewrap() {
    if (m_.bwrap.empty())
      return fail("bubblewrap", "not found in /usr/bin, /usr/local/bin or /bin",
                  install_command(m_.distribution, "bubblewrap"));
    int major = 0, minor = 0;
    if (std::sscanf(m_.bwrap_version.c_str(), "%d.%d", &major, &minor) != 2)
      return suspect("bubblewrap", m_.bwrap + " does not say its version",
                     install_command(m_.distribution, "bubblewrap"));
    if (major == 0 && minor < 8)
      return suspect("bubblewrap", m_.bwrap_version + " at " + m_.bwrap + " is older than 0.8.0",
                     install_command(m_.distribution, "bubblewrap"));
    ok("bubblewrap", m_.bwrap_version + " at " + m_.bwrap);
  }

  void namespaces() {
    constexpr const char* name = "user namespaces";
    if (m_.max_user_namespaces && *m_.max_user_namespaces == 0)
      return fail(name, "user.max_user_namespaces is 0",
                  "sudo sysctl -w user.max_user_namespaces=15000");
    if (m_.user_namespace_error == 0)
      return ok(name, "can be made");
    const std::string why = std::strerror(m_.user_namespace_error);
    if (m_.user_namespace_error == ENOSPC)
      return fail(name, "cannot be made: too many of them (user.max_user_namespaces)",
                  "sudo sysctl -w user.max_user_namespaces=15000");
    if (m_.unprivileged_namespaces && *m_.unprivileged_namespaces == 0 && !m_.root)
      return fail(name, "kernel.unprivileged_userns_clone is 0",
                  "sudo sysctl -w kernel.unprivileged_userns_clone=1");
    if (m_.user_namespace_error == EPERM || m_.user_namespace_error == EACCES)
      return fail(name, "cannot be made: " + why + "; a container or a security module forbids it",
                  container_options);
    fail(name, "cannot be made: " + why, "use a kernel with CONFIG_USER_NS");
  }

  void apparmor() {
    constexpr const char* name = "AppArmor";
    if (!m_.apparmor_restricts || *m_.apparmor_restricts == 0)
      return;
    if (m_.sandbox.made)
      return ok(name, "restricts user namespaces, bubblewrap may make them");
    suspect(name,
            "restricts user namespaces (kernel.apparmor_restrict_unprivileged_userns), and "
            "bubblewrap is not excepted",
            apparmor_profile);
  }

  void proc() {
    if (m_.covered_proc.empty())
      return;
    const std::string what =
        "this container covers parts of /proc (" + joined(m_.covered_proc) + ")";
    if (m_.sandbox.made)
      return ok("/proc", what + ", a new one can be made all the same");
    suspect("/proc", what + ", so that no new one can be made", container_options);
  }

  void kernel() {
    std::vector<std::string> there;
    for (const facility& f : m_.facilities) {
      if (f.error == 0) {
        there.push_back(f.name);
        continue;
      }
      if (f.error == EBUSY) {
        suspect("kernel", f.name + " is taken by another program around this one: " + f.purpose,
                "run piorch outside of LXD, Incus, or whatever else listens here");
        continue;
      }
      if (!f.required) {
        warn("kernel", f.name + " is missing: " + f.purpose,
             "use Linux " + f.since + " or newer; this is " + m_.kernel);
        continue;
      }
      const bool forbidden = f.error == EPERM || f.error == EACCES;
      suspect("kernel", f.name + " is missing (" + std::strerror(f.error) + "): " + f.purpose,
              forbidden ? container_options
                        : "use Linux " + f.since + " or newer; this is " + m_.kernel);
    }
    if (!there.empty())
      ok("kernel", m_.kernel + " with " + joined(there));
  }

  void configuration() {
    if (!m_.settings_error.empty())
      return fail("configuration", m_.settings_error, "correct it, then run: piorch config check");
    ok("configuration", m_.settings_file.empty() ? "no file: the defaults hold"
                                                 : m_.settings_file + " is understood");
  }

  void helpers() {
    constexpr const char* again = "install piorch again: cmake --install BUILD-DIRECTORY";
    if (!m_.missing_helpers.empty())
      return fail("helpers", joined(m_.missing_helpers) + " missing in " + m_.libexec_dir, again);
    if (!m_.missing_session_helpers.empty())
      return warn("helpers",
                  joined(m_.missing_session_helpers) + " missing in " + m_.libexec_dir +
                      ": some commands will not work",
                  again);
    ok("helpers", "in " + m_.libexec_dir);
  }

  void directory(const char* name, const machine_facts::directory& d, const char* without,
                 const std::string& remedy) {
    if (d.error.empty())
      ok(name, d.path + (d.absent ? " (will be made)" : ""));
    else
      warn(name, d.error + ": " + without, remedy);
  }

  static std::string private_remedy(const machine_facts::directory& d, const char* variable) {
    if (!d.absent)
      return "move away what is there: mv " + d.path + " " + d.path + ".old";
    if (!d.absent_parent.empty())
      return "make it: mkdir -p -m 700 " + d.absent_parent;
    return std::string("export ") + variable + "=DIRECTORY, a private one that you can write in";
  }

  void directories() {
    directory("temporary directory", m_.temp, "commands run without a writable one",
              "export TMPDIR=/tmp, or make it: mkdir -p -m 1777 " + m_.temp.path);
    directory("runtime directory", m_.runtime, "piorch serve cannot be reached",
              private_remedy(m_.runtime, "XDG_RUNTIME_DIR"));
    directory("state directory", m_.state, "sessions cannot be kept",
              private_remedy(m_.state, "XDG_STATE_HOME"));
  }

  void runtimes() {
    if (m_.node.empty())
      warn("Node.js", "no node in PATH: no subagent sessions, no JavaScript",
           install_node(install_command(m_.distribution, "npm") + " && "));
    else if (m_.sandbox.made && m_.node_version.empty())
      warn("Node.js", m_.node + " does not run in a sandbox",
           "see what it says: piorch exec -- node --version");
    else if (!m_.node_version.empty() && is_older_node(m_.node_version))
      warn("Node.js",
           m_.node_version + " at " + m_.node + " is too old for Pi: no subagent sessions",
           install_node(""));
    else
      ok("Node.js", m_.node_version.empty() ? m_.node : m_.node_version + " at " + m_.node);
    if (m_.pi.empty())
      warn("Pi", "no pi in PATH: no subagent sessions",
           "npm install -g @earendil-works/pi-coding-agent");
    else
      ok("Pi", (m_.pi_version.empty() ? "of unknown version" : m_.pi_version) + " at " + m_.pi);
  }

  void limits() {
    using processes = limit_mechanisms::processes_type;
    const std::string how_many = std::to_string(m_.processes) +
                                 " in a sandbox: " + describe_processes(m_.limits, m_.processes);
    if (m_.limits.processes == processes::none)
      warn("limit of processes", how_many,
           "run piorch as an ordinary user, or use Linux 6.14 or newer; this is " + m_.kernel);
    else if (m_.processes < m_.limits.least_processes)
      warn("limit of processes", how_many,
           "run piorch as an ordinary user, or set limits.processes to " +
               std::to_string(m_.limits.least_processes) + " or more");
    else
      ok("limit of processes", how_many);
    const std::string how_much = std::to_string(m_.memory_mib) + " MiB: ";
    if (m_.limits.memory == limit_mechanisms::memory_type::group)
      ok("limit of memory", how_much + describe(m_.limits.memory));
    else
      warn("limit of memory", how_much + describe(m_.limits.memory),
           "run it below a systemd user session: systemd-run --user --scope piorch …");
  }

  // The value of "Name:\tvalue" in /proc/self/status.
  std::string status(const std::string& name) const {
    const auto at = ("\n" + m_.sandbox.output).find("\n" + name + ":\t");
    if (at == std::string::npos)
      return {};
    const auto begin = at + name.size() + 2;
    return m_.sandbox.output.substr(begin, m_.sandbox.output.find('\n', begin) - begin);
  }

  void sandbox() {
    if (!m_.sandbox.made) {
      const bool explained = std::any_of(out_.begin(), out_.end(), [](const finding& f) {
        return f.what == verdict::failed && f.name != "configuration";
      });
      // What exec says sends people here.
      constexpr std::string_view begin = "cannot make a sandbox: ";
      std::string problem =
          m_.sandbox.problem.substr(0, m_.sandbox.problem.find("; run piorch doctor"));
      if (problem.compare(0, begin.size(), begin) == 0)
        problem.erase(0, begin.size());
      // Refusals end in their remedy.
      const auto semicolon = problem.find("; ");
      const std::string remedy = explained ? "see above"
                                 : semicolon == std::string::npos
                                     ? "report this with the whole output of piorch doctor"
                                     : problem.substr(semicolon + 2);
      return fail("sandbox", "cannot be made: " + problem.substr(0, semicolon), remedy);
    }
    // What a command sees of its own walls.
    if (status("Seccomp") != "2" || status("NoNewPrivs") != "1" ||
        status("CapEff").find_first_not_of('0') != std::string::npos || status("CapEff").empty())
      return fail("sandbox", "was made, but without all of its walls",
                  "report this with the whole output of piorch doctor");
    ok("sandbox", "made and gone in " + std::to_string(m_.sandbox.took.count()) +
                      " ms; system call filter on, no capabilities");
  }

  const machine_facts& m_;
  std::vector<finding> out_;
};

const char* word(verdict v) {
  return v == verdict::ok ? "ok" : v == verdict::warning ? "warn" : "FAIL";
}

} // namespace

std::vector<finding> diagnose(const machine_facts& m) { return examination(m).all(); }

std::string findings_text(const std::vector<finding>& all, bool colour) {
  std::string out;
  for (const finding& f : all) {
    std::string label = word(f.what);
    label.resize(4, ' ');
    if (colour)
      label = (f.what == verdict::ok        ? "\x1b[32m"
               : f.what == verdict::warning ? "\x1b[33m"
                                            : "\x1b[31;1m") +
              label + "\x1b[0m";
    out += label + "  " + f.name + ": " + config::printable(f.detail) + '\n';
    if (!f.remedy.empty())
      out += "      fix: " + config::printable(f.remedy) + '\n';
  }
  return out;
}

std::string findings_json(const std::vector<finding>& all) {
  using nlohmann::ordered_json;
  ordered_json out;
  out["ok"] = std::none_of(all.begin(), all.end(),
                           [](const finding& f) { return f.what == verdict::failed; });
  out["findings"] = ordered_json::array();
  for (const finding& f : all) {
    const char* status = f.what == verdict::failed ? "fail" : word(f.what);
    ordered_json entry{{"status", status}, {"name", f.name}, {"detail", f.detail}};
    entry["remedy"] = f.remedy.empty() ? ordered_json(nullptr) : ordered_json(f.remedy);
    out["findings"].push_back(std::move(entry));
  }
  return out.dump(2, ' ', false, ordered_json::error_handler_t::replace) + "\n";
}

} // namespace piorch::sandbox
