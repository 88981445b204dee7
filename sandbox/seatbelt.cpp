#include "sandbox/seatbelt.hpp"

#include "config/text.hpp"
#include "sandbox/files.hpp"
#include "sandbox/sbpl.hpp"
#include "sandbox/scratch.hpp"

#include <algorithm>
#include <set>

namespace piorch::sandbox {

namespace {

// What every program needs, whatever the policy: an allow-list after (deny
// default). Named services only. Left out on purpose, although programs ask for
// them: SecurityServer and securityd (the keychain), trustd (it connects to the
// network on behalf of the caller), launchservicesd and appleevents (they start
// programs outside), mDNSResponder (no look-up before a decision), pboard.
constexpr const char* base = R"((version 1)
(deny default (with message "piorch: outside of the sandbox's policy"))

; processes: any program, signals and inspection among themselves only
(allow process-exec)
(allow process-fork)
(allow process-info* (target same-sandbox))
(allow signal (target same-sandbox))
(allow mach-priv-task-port (target same-sandbox))

; facts about the machine; not kern.proc*: other processes and their arguments
(allow sysctl-read
  (sysctl-name-prefix "hw.")
  (sysctl-name-prefix "machdep.cpu.")
  (sysctl-name-prefix "net.routetable.")
  (sysctl-name-prefix "vm.")
  (sysctl-name "kern.argmax")
  (sysctl-name "kern.bootargs")
  (sysctl-name "kern.boottime")
  (sysctl-name "kern.hostname")
  (sysctl-name "kern.iossupportversion")
  (sysctl-name "kern.maxfilesperproc")
  (sysctl-name "kern.maxproc")
  (sysctl-name "kern.ngroups")
  (sysctl-name "kern.osproductversion")
  (sysctl-name "kern.osrelease")
  (sysctl-name "kern.ostype")
  (sysctl-name "kern.osvariant_status")
  (sysctl-name "kern.osversion")
  (sysctl-name "kern.secure_kernel")
  (sysctl-name "kern.tcsm_available")
  (sysctl-name "kern.usrstack64")
  (sysctl-name "kern.version")
  (sysctl-name "sysctl.proc_cputype"))
(allow sysctl-write (sysctl-name "kern.tcsm_enable"))

; services that compilers, interpreters and shells look up
(allow mach-lookup
  (global-name "com.apple.PowerManagement.control")
  (global-name "com.apple.bsd.dirhelper")
  (global-name "com.apple.distributed_notifications@Uv3")
  (global-name "com.apple.logd")
  (global-name "com.apple.lsd.mapdb")
  (global-name "com.apple.system.logger")
  (global-name "com.apple.system.notification_center")
  (global-name "com.apple.system.opendirectoryd.libinfo")
  (global-name "com.apple.system.opendirectoryd.membership"))
(allow ipc-posix-sem)
(allow ipc-posix-shm-read* (ipc-posix-name "apple.shm.notification_center"))
(allow user-preference-read)

; terminals and the devices that hold nothing
(allow pseudo-tty)
(allow file-ioctl file-read* file-write*
  (literal "/dev/ptmx")
  (literal "/dev/tty")
  (regex #"^/dev/ttys[0-9]+$"))
(allow file-ioctl file-read* file-write-data
  (require-all
    (vnode-type CHARACTER-DEVICE)
    (require-any
      (literal "/dev/null")
      (literal "/dev/zero")
      (literal "/dev/random")
      (literal "/dev/urandom")
      (literal "/dev/dtracehelper"))))
(allow file-read* file-write-data (subpath "/dev/fd"))
)";

// Names that must not come into being in a workspace at any depth, after
// "WORKSPACE/(.+/)?" and whatever the case of their letters. Linux finds what is
// there by its walk and leaves new Git directories to the create guard; patterns
// do for both here, and refuse more: no guard can look at what is written.
struct nested_name {
  const char* operations;
  const char* pattern;
  const char* but_not; // excepts paths that it matches, or nullptr
  const char* kind;    // a filter besides the name, or ""
  const char* reason;
};

constexpr const char* any_write = "file-write* file-link";
constexpr const char* output =
    "/([.]git|node_modules|dist|build|coverage|[.]next|[.]turbo|[.]cache|target|vendor)/";
constexpr const char* a_secret = "secrets of the project";
constexpr const char* by_git = "through it the host's Git runs programs";

constexpr nested_name nested_names[] = {
    {any_write, "[.]env[^/]*$",
     "([.](example|sample|template|dist)|/([.]git|node_modules|dist|build|coverage|[.]next|"
     "[.]turbo|[.]cache|target|vendor)/.*)$",
     "", a_secret},
    {any_write, "[^/]+[.](pem|key|p12|pfx)$", output, "", a_secret},
    {any_write, "[.]?secrets(/.*)?$", output, "", a_secret},
    {any_write, "[.]git/(.+/)?(hooks(/.*)?|config([.]worktree)?|commondir)$", nullptr, "", by_git},
    // A directory with HEAD, objects and refs is a repository under any name.
    {any_write, "head$",
     "/[.]git/(HEAD|logs/HEAD|(logs/)?refs/remotes/[^/]+/HEAD|(modules|worktrees)/.+/HEAD)$",
     "(require-not (vnode-type DIRECTORY))", "makes a repository for the host's Git"},
    // and one that may hold them must not become another name's directory
    {"file-write-unlink",
     "[.]git(/(modules|worktrees)(/.*)?|(/logs)?(/refs(/remotes(/[^/]+)?)?)?)$", nullptr,
     "(vnode-type DIRECTORY)", "a Git directory stays where it is"},
};

class profile {
public:
  explicit profile(const policy& p) : p_(p), out_(base) {}

  result<std::string> write(const seatbelt_options& o) {
    section("reading: everything that no rule below hides");
    line("(allow file-read* file-test-existence)");
    section("the policy, rule by rule");
    for (const rule& r : p_.rules)
      if (auto ok = add(r); !ok)
        return std::move(ok).failed();
    if (o.private_temp) {
      section("the private temporary directory");
      if (sbpl::is_plain(p_.temp_dir))
        allow_way_to(join(scratch_parent(p_.temp_dir), "."));
      line("(allow file-read* file-write* file-link (subpath (param \"PIORCH_TEMP\")))");
      line(R"((deny file-write-unlink (literal (param "PIORCH_TEMP"))))");
    }
    section("names that must not come into being anywhere in the workspace");
    for (const nested_name& n : nested_names)
      deny_nested(n);
    section("directories above protected names: neither moved nor, where absent, made");
    deny_ancestors();
    network(o);
    return std::move(out_);
  }

private:
  void line(const std::string& text) { out_ += text + '\n'; }
  void section(const std::string& title) { out_ += "\n; " + title + '\n'; }

  static std::string because(const std::string& reason) {
    return " (with message " + sbpl::message("piorch: " + reason) + ")";
  }

  // The path itself and everything below it, in any spelling.
  static std::string tree_filter(const std::string& path) {
    std::string exact;
    if (sbpl::is_plain(path))
      exact = "(subpath " + sbpl::string(path) + ") ";
    return exact + sbpl::regex(sbpl::any_case(path), "(/.*)?$");
  }

  static std::string name_filter(const std::string& path) {
    const std::string exact =
        sbpl::is_plain(path) ? "(literal " + sbpl::string(path) + ") " : std::string();
    return exact + sbpl::regex(sbpl::any_case(path), "$");
  }

  result<done> allow(const char* operations, const rule& r, const std::string& path) {
    if (!sbpl::is_plain(path))
      return error{failure::sandbox_unavailable,
                   config::in_quotes(path, 4096) +
                       " cannot be written in a Seatbelt profile: rename it, or take it out of "
                       "what a sandbox may use"};
    line(std::string("(allow ") + operations + " (subpath " + sbpl::string(path) + ")) ; " +
         config::printable(r.reason));
    return done{};
  }

  result<done> add(const rule& r) {
    const std::string& real = r.source.empty() ? r.path : r.source;
    switch (r.what) {
      case access::hide:
        line("(deny file-read* file-write* file-test-existence " + tree_filter(r.path) +
             because(r.reason) + ")");
        hidden_.push_back(r.path);
        return done{};
      case access::own:
        return error{failure::sandbox_unavailable,
                     "Seatbelt cannot show a directory of the sandbox's own at " + r.path};
      case access::read: {
        // Seatbelt judges the path a link leads to; the link itself must be readable too.
        if (real != r.path)
          if (auto ok = allow("file-read* file-test-existence", r, r.path); !ok)
            return ok;
        if (auto ok = allow("file-read* file-test-existence", r, real); !ok)
          return ok;
        allow_way_to(r.path);
        allow_way_to(real);
        return done{};
      }
      case access::write: {
        auto ok = allow("file-read* file-write* file-link file-test-existence", r, real);
        if (!ok)
          return ok;
        allow_way_to(real);
        line("(deny file-write-unlink " + name_filter(real) +
             because("the root of a writable directory stays where it is") + ")");
        trees_.push_back(real);
        return done{};
      }
      case access::pin:
        line("(deny file-write-unlink " + name_filter(r.path) + because(r.reason) + ")");
        pinned_.push_back(r.path);
        return done{};
      case access::protect:
        line("(deny file-write* file-link " + tree_filter(r.path) + because(r.reason) + ")");
        protected_.push_back(r.path);
        return done{};
    }
    return done{};
  }

  // realpath(3) and getcwd(3) look at every directory on the way; only that they
  // are there is shown, not what is in them.
  void allow_way_to(const std::string& path) {
    for (std::string up = parent_of(path); up != "/"; up = parent_of(up))
      if (std::any_of(hidden_.begin(), hidden_.end(),
                      [&](const std::string& h) { return is_within(up, h); }) &&
          on_the_way_.insert(up).second)
        line("(allow file-read-metadata file-test-existence (literal " + sbpl::string(up) + "))");
  }

  void deny_nested(const nested_name& n) {
    std::string filter =
        sbpl::regex(sbpl::any_case(p_.workspace), "/(.+/)?" + sbpl::fold_case(n.pattern));
    if (n.but_not) // in this case only: an exception is exact
      filter += std::string("\n    (require-not (regex #\"") + n.but_not + "\"))";
    if (*n.kind)
      filter += std::string("\n    ") + n.kind;
    line(std::string("(deny ") + n.operations + "\n  (require-all\n    " + filter + ")\n " +
         because(n.reason) + ")");
  }

  // A directory moved away, or one moved here that holds the name already, would
  // go around a rule about the name (facts: `mv a c; mkdir a`). Making the
  // directory cannot be told from moving one here, so an absent one stays absent.
  void deny_ancestors() {
    std::set<std::string> done_already;
    const auto deny = [&](const std::string& path, bool is_pin) {
      for (const std::string& tree : trees_)
        if (is_within(path, tree) && path != tree)
          for (std::string up = parent_of(path); up != tree && is_within(up, tree);
               up = parent_of(up))
            if (done_already.insert(up).second)
              line(std::string("(deny file-write-unlink ") +
                   (is_pin || has_present(up) ? "" : "file-write-create ") + name_filter(up) +
                   because("holds a protected path") + ")");
    };
    for (const std::string& path : protected_)
      deny(path, false);
    done_already.insert(pinned_.begin(), pinned_.end());
    for (const std::string& path : pinned_)
      deny(path, true);
  }

  // Does the policy know something below `directory` that is there now?
  bool has_present(const std::string& directory) const {
    return std::any_of(p_.rules.begin(), p_.rules.end(), [&](const rule& r) {
      return r.present && (r.what == access::pin || r.what == access::protect) &&
             is_within(r.path, directory);
    });
  }

  void network(const seatbelt_options& o) {
    section("network: the broker's proxies and the local ports of the configuration");
    std::string ports;
    const auto add_port = [&ports](std::uint16_t port) {
      ports += "\n  (remote ip \"localhost:" + std::to_string(port) + "\")";
    };
    add_port(o.http_proxy);
    add_port(o.socks_proxy);
    for (const std::uint16_t port : p_.settings.network.allowed_local_ports)
      add_port(port);
    line("(allow network-outbound" + ports + ")");
    // Node, Go and CFNetwork watch the routing socket and the kernel's events.
    line("(allow system-socket (socket-domain AF_ROUTE))");
    line("(deny network-outbound (remote unix-socket)" + because("no Unix sockets of the host") +
         ")");
    line("(deny network-bind network-inbound (local unix-socket)" + because("no Unix sockets") +
         ")");
  }

  const policy& p_;
  std::string out_;
  std::vector<std::string> hidden_, trees_, protected_, pinned_;
  std::set<std::string> on_the_way_;
};

} // namespace

result<std::string> seatbelt_profile(const policy& p, const seatbelt_options& options) {
  return profile(p).write(options);
}

} // namespace piorch::sandbox
