#include "sandbox/bwrap_args.hpp"

#include "config/text.hpp"
#include "sandbox/files.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstring>

namespace piorch::sandbox {

namespace {

using kind = mount_op::kind_type;

constexpr std::array namespaces{"--unshare-user", "--unshare-ipc", "--unshare-pid",
                                "--unshare-net",  "--unshare-uts", "--unshare-cgroup"};

// A word for a shell; what a terminal would act upon in the form $'\x1b' of bash.
std::string quoted(const std::string& word) {
  if (config::printable(word, word.size() + 1) != word) {
    std::string out = "$'";
    for (const char c : word) {
      char escaped[8];
      const bool plain = c >= 0x20 && c < 0x7f && c != '\'' && c != '\\';
      std::snprintf(escaped, sizeof escaped, plain ? "%c" : "\\x%02x",
                    static_cast<unsigned char>(c));
      out += escaped;
    }
    return out + "'";
  }
  if (!word.empty() && word.find_first_not_of("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ"
                                              "0123456789-_=./:,+@%") == std::string::npos)
    return word;
  std::string out = "'";
  for (const char c : word)
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

std::vector<std::string> tmpfs_options(const mount_op& op) {
  std::vector<std::string> out;
  if (op.size_limit > 0) {
    out.push_back("--size");
    out.push_back(std::to_string(op.size_limit));
  }
  if (op.mode != 0755) {
    char octal[16];
    std::snprintf(octal, sizeof octal, "0%o", op.mode);
    out.push_back("--perms");
    out.push_back(octal);
  }
  out.push_back("--tmpfs");
  out.push_back(op.path);
  return out;
}

const char* simple_option(kind k) {
  switch (k) {
    case kind::dev:
      return "--dev";
    case kind::proc:
      return "--proc";
    default:
      return "--remount-ro";
  }
}

} // namespace

result<bwrap_arguments> make_bwrap_arguments(const plan& p, int first_fd) {
  bwrap_arguments out;
  auto& o = out.options;
  o.assign(namespaces.begin(), namespaces.end());
  // piorch-init makes the inner mounts and listens, and then gives these up; nothing that it
  // starts has any capability.
  for (const char* word :
       {"--die-with-parent", "--as-pid-1", "--cap-drop", "ALL", "--cap-add", "CAP_SYS_ADMIN",
        "--cap-add", "CAP_SETPCAP", "--cap-add", "CAP_SYS_PTRACE", "--cap-add",
        "CAP_NET_BIND_SERVICE"}) // allowed local ports may be below 1024
    o.emplace_back(word);
  for (const mount_op& op : p.outer) {
    if (op.kind == kind::tmpfs) {
      for (std::string& word : tmpfs_options(op))
        o.push_back(std::move(word));
    } else if (op.kind == kind::bind || (op.kind == kind::ro_bind && op.path != "/")) {
      const std::string& source = op.source.empty() ? op.path : op.source;
      ipc::unique_fd fd = open_pinned(source);
      if (!fd)
        return error{failure::sandbox_unavailable,
                     "cannot open " + source + " for the sandbox: " + std::strerror(errno)};
      o.emplace_back(op.kind == kind::bind ? "--bind-fd" : "--ro-bind-fd");
      o.push_back(std::to_string(first_fd + static_cast<int>(out.descriptors.size())));
      o.push_back(op.path);
      out.descriptors.push_back(std::move(fd));
    } else if (op.kind == kind::ro_bind) {
      for (const char* word : {"--ro-bind", "/", "/"})
        o.emplace_back(word);
    } else {
      o.emplace_back(simple_option(op.kind));
      o.push_back(op.path);
    }
  }
  return out;
}

std::string bwrap_text(const plan& p, const std::string& workspace) {
  std::string out = "bwrap";
  const auto line = [&out](const std::vector<std::string>& words) {
    out += " \\\n ";
    for (const std::string& word : words)
      out += " " + quoted(word);
  };
  for (const char* option : namespaces)
    line({option});
  line({"--die-with-parent"});
  line({"--cap-drop", "ALL"});
  for (const mount_op& op : p.outer) {
    if (op.kind == kind::tmpfs)
      line(tmpfs_options(op));
    else if (op.kind == kind::bind || op.kind == kind::ro_bind)
      line({op.kind == kind::bind ? "--bind" : "--ro-bind", op.source.empty() ? op.path : op.source,
            op.path});
    else
      line({simple_option(op.kind), op.path});
  }
  for (const inner_mount& m : p.inner) {
    const std::string path = join(p.trees[m.tree], m.path);
    line({m.read_only ? "--ro-bind" : "--bind", path, path});
  }
  for (const char* name : {"sys", "sysrq-trigger", "irq", "bus", "fs"})
    line({"--ro-bind-try", std::string("/proc/") + name, std::string("/proc/") + name});
  line({"--chdir", workspace});
  line({"--", "COMMAND"});
  return out + "\n";
}

} // namespace piorch::sandbox
