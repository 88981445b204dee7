#include "sandbox/policy_report.hpp"

#include "config/limits.hpp"
#include "config/text.hpp"
#include "ipc/base64.hpp"
#include "sandbox/files.hpp"
#include "sandbox/scratch.hpp"

#include <algorithm>
#include <nlohmann/json.hpp>

namespace piorch::sandbox {

namespace {

constexpr std::size_t page_width = 100;
constexpr std::size_t longest_path_column = 44;
constexpr const char* devices[] = {"/dev/null", "/dev/zero",    "/dev/full", "/dev/random",
                                   "/dev/tty",  "/dev/urandom", "/dev/pts",  "/dev/shm"};

// As it is when it reads the same on every terminal, else in quotes.
std::string shown(const std::string& text) {
  std::string escaped;
  bool odd = text.empty() || text.front() == ' ' || text.back() == ' ';
  for (const char c : text) {
    if (c == '"' || c == '\\') {
      escaped += '\\';
      odd = true;
    }
    odd = odd || c == ',';
    escaped += c;
  }
  const std::string safe = config::printable(text, text.size() + 1);
  if (!odd && safe == text)
    return text;
  std::string out = "\"";
  std::string_view rest = escaped;
  while (!rest.empty()) { // backslashes of ours are not to be told from \xNN otherwise
    const auto at = std::min(rest.find('\\'), rest.size());
    out += config::printable(rest.substr(0, at), rest.size() * 4 + 1);
    out += rest.substr(at, 2);
    rest = rest.substr(std::min(at + 2, rest.size()));
  }
  return out + '"';
}

// Columns as people count them: UTF-8 continuation bytes take none.
std::size_t width(const std::string& text) {
  return static_cast<std::size_t>(
      std::count_if(text.begin(), text.end(), [](char c) { return (c & 0xc0) != 0x80; }));
}

class page {
public:
  explicit page(bool colour) : colour_(colour) {}

  void heading(const std::string& text) {
    if (!out_.empty())
      out_ += '\n';
    out_ += (colour_ ? "\x1b[1m" + text + "\x1b[0m" : text) + '\n';
  }
  void group(const std::string& text) { out_ += "  " + text + '\n'; }
  void warning(const std::string& text) {
    out_ += "  " + (colour_ ? "\x1b[33m" + text + "\x1b[0m" : text) + '\n';
  }

  struct row {
    std::string left, right;
  };
  void table(const std::vector<row>& rows) {
    std::size_t column = 0;
    for (const row& r : rows)
      column = std::max(column, std::min(width(r.left), longest_path_column));
    for (const row& r : rows) {
      out_ += "    " + r.left;
      if (!r.right.empty()) {
        out_.append(width(r.left) < column ? column - width(r.left) : 0, ' ');
        out_ += "  " + r.right;
      }
      out_ += '\n';
    }
  }

  // "title: a, b, c" on as many lines as it takes.
  void list(const std::string& title, const std::vector<std::string>& items) {
    std::string line = "    " + title + ":";
    for (std::size_t i = 0; i < items.size(); ++i) {
      const std::string word = items[i] + (i + 1 < items.size() ? "," : "");
      if (width(line) + 1 + width(word) > page_width) {
        out_ += line + '\n';
        line = "     ";
      }
      line += " " + word;
    }
    out_ += line + '\n';
  }

  std::string take() { return std::move(out_); }

private:
  bool colour_;
  std::string out_;
};

class text_report {
public:
  text_report(const policy_report& r, bool colour) : r_(r), page_(colour) {}

  std::string write() {
    page_.heading("Sandbox policy");
    page_.table(
        {{"workspace", shown(r_.rules.workspace)},
         {"settings", r_.settings_file.empty() ? "the defaults: there is no configuration file"
                                               : shown(r_.settings_file)}});
    reading();
    writing();
    protection();
    network();
    limits();
    return page_.take();
  }

private:
  std::string local(const std::string& path) const {
    return shown(is_within(path, r_.rules.workspace) && path != r_.rules.workspace
                     ? relative_to(path, r_.rules.workspace)
                     : path);
  }

  std::vector<page::row> rows(access what, bool in_workspace_form) const {
    std::vector<page::row> out;
    for (const rule& r : r_.rules.rules)
      if (r.what == what && (r.present || what == access::read || what == access::hide))
        out.push_back({in_workspace_form ? local(r.path) : shown(r.path),
                       config::printable(r.reason) +
                           (r.source.empty() ? "" : ", from " + shown(r.source)) +
                           (r.present || what == access::hide ? "" : " (does not exist)")});
    return out;
  }

  void table_if_any(const std::string& title, const std::vector<page::row>& rows) {
    if (rows.empty())
      return;
    page_.group(title);
    page_.table(rows);
  }

  void reading() {
    page_.heading("Reading");
    page_.group("everything, except what is hidden");
    table_if_any("hidden: seen as an empty directory", rows(access::hide, false));
    table_if_any("visible there all the same", rows(access::read, false));
  }

  void writing() {
    page_.heading("Writing");
    page_.group("nothing, except");
    auto writable = rows(access::write, false);
    writable.push_back({shown(join(scratch_parent(r_.rules.temp_dir), "pi-sandbox-tmp-*")),
                        "a private directory for temporary files, removed at the end"});
    page_.table(writable);
    page_.list("harmless devices", {std::begin(devices), std::end(devices)});
  }

  void protection() {
    page_.heading("Protected in writable directories");
    if (!r_.guarded)
      page_.warning("no command is started here, since names that do not exist could not be "
                    "protected: " +
                    config::printable(r_.unguarded_because));
    else if (r_.guard_interruptible)
      page_.warning("this kernel (before 5.19) lets signals interrupt the protection of names that "
                    "do not exist: interrupted calls are answered when they are made again");
    table_if_any("cannot be written, replaced or removed", rows(access::protect, true));
    table_if_any("cannot be replaced, renamed or removed", rows(access::pin, true));
    std::vector<std::pair<std::string, std::vector<std::string>>> absent; // by reason
    bool no_repository = false;
    for (const rule& r : r_.rules.rules) {
      if (r.what != access::protect || r.present)
        continue;
      if (r.path == join(r_.rules.workspace, ".git")) {
        no_repository = true;
        continue;
      }
      auto at = std::find_if(absent.begin(), absent.end(),
                             [&](const auto& entry) { return entry.first == r.reason; });
      if (at == absent.end())
        at = absent.insert(absent.end(), {r.reason, {}});
      at->second.push_back(local(r.path));
    }
    if (!absent.empty()) {
      if (r_.guarded)
        page_.group("cannot be created: do not exist now");
      else
        page_.group("do not exist now");
      for (const auto& [reason, names] : absent)
        page_.list(config::printable(reason), names);
    }
    if (!r_.rules.tree_programs.empty()) {
      std::vector<page::row> rows;
      for (const tree_program& one : r_.rules.tree_programs)
        rows.push_back({one.path.empty() ? "anything above them" : shown(one.path),
                        config::printable(one.reason)});
      page_.group("cannot be created in other work trees either");
      page_.table(rows);
    }
    page_.group("Git directories, wherever they are made");
    page_.list("refused", {"hooks", "settings through which the host's Git runs programs"});
    if (no_repository)
      page_.list(".git of the workspace, which does not exist", {"only as a new directory"});
  }

  template <class List> static std::vector<std::string> patterns(const List& from) {
    std::vector<std::string> out;
    for (const config::domain_pattern& p : from)
      out.push_back(shown(p.text()));
    return out;
  }

  void network() {
    const auto& n = r_.rules.settings.network;
    page_.heading("Network");
    page_.group(
        "only through the proxies at 127.0.0.1:" + std::to_string(piorch::limits::http_proxy_port) +
        " (HTTP) and :" + std::to_string(piorch::limits::socks_proxy_port) +
        " (SOCKS); in this order");
    const auto refused = patterns(n.denied_domains), allowed = patterns(n.allowed_domains);
    page_.list("refused", refused.empty() ? std::vector<std::string>{"no name"} : refused);
    page_.list("permitted", allowed.empty() ? std::vector<std::string>{"no name"} : allowed);
    page_.list("all other public names", {"somebody is asked for each connection"});
    if (!n.allowed_local_ports.empty()) {
      std::vector<std::string> ports;
      for (const std::uint16_t port : n.allowed_local_ports)
        ports.push_back(std::to_string(port));
      page_.list("ports of this machine's loopback", ports);
    }
  }

  void limits() {
    const auto& l = r_.rules.settings.limits;
    page_.heading("Limits");
    page_.table(
        {{"processes  " + std::to_string(l.processes), describe_processes(r_.limits, l.processes)},
         {"memory     " + std::to_string(l.memory_mib) + " MiB", describe(r_.limits.memory)}});
  }

  const policy_report& r_;
  page page_;
};

using nlohmann::ordered_json;

std::string dump(const ordered_json& value, ordered_json::error_handler_t handler, int indent) {
  return value.dump(indent, ' ', false, handler);
}

// A path is a string; bytes that are no UTF-8 are lost in it, so all of them
// follow in base64 then.
void add_path(ordered_json& to, const std::string& key, const std::string& path) {
  using how = ordered_json::error_handler_t;
  to[key] = path;
  if (dump(to[key], how::replace, -1) != dump(to[key], how::ignore, -1)) {
    std::string encoded;
    ipc::append_base64(encoded, path);
    to[key + "Base64"] = encoded;
  }
}

const char* enforced_by(const rule& r, bool guarded) {
  if (r.present || r.what == access::hide) // every start makes what it hides and is not there
    return r.by_guard && guarded ? "guard" : "mount";
  return r.what == access::protect && guarded ? "guard" : "nothing";
}

template <class List> ordered_json texts(const List& patterns) {
  auto out = ordered_json::array();
  for (const config::domain_pattern& p : patterns)
    out.push_back(p.text());
  return out;
}

} // namespace

std::string policy_text(const policy_report& r, bool colour) {
  return text_report(r, colour).write();
}

std::string policy_json(const policy_report& r) {
  ordered_json out;
  add_path(out, "workspace", r.rules.workspace);
  add_path(out, "temporaryParent", scratch_parent(r.rules.temp_dir));
  if (r.settings_file.empty())
    out["settingsFile"] = nullptr;
  else
    add_path(out, "settingsFile", r.settings_file);
  out["rules"] = ordered_json::array();
  for (const rule& one : r.rules.rules) {
    ordered_json entry;
    entry["access"] = name_of(one.what);
    add_path(entry, "path", one.path);
    if (!one.source.empty())
      add_path(entry, "source", one.source);
    entry["reason"] = one.reason;
    entry["present"] = one.present;
    entry["enforcedBy"] = enforced_by(one, r.guarded);
    out["rules"].push_back(std::move(entry));
  }
  out["workTreePrograms"] = ordered_json::array();
  for (const tree_program& one : r.rules.tree_programs) {
    ordered_json entry;
    add_path(entry, "path", one.path);
    entry["reason"] = one.reason;
    entry["onlyLinked"] = one.linked;
    out["workTreePrograms"].push_back(std::move(entry));
  }
  out["createGuard"] = r.guarded;
  out["createGuardMode"] = !r.guarded              ? ordered_json(nullptr)
                           : r.guard_interruptible ? ordered_json("replay")
                                                   : ordered_json("full");
  out["createGuardProblem"] = r.guarded ? ordered_json(nullptr) : ordered_json(r.unguarded_because);
  const auto& s = r.rules.settings;
  out["network"] = {{"deniedDomains", texts(s.network.denied_domains)},
                    {"allowedDomains", texts(s.network.allowed_domains)},
                    {"otherwise", "ask"},
                    {"allowedLocalPorts", s.network.allowed_local_ports},
                    {"httpProxyPort", limits::http_proxy_port},
                    {"socksProxyPort", limits::socks_proxy_port}};
  out["limits"] = {{"processes", s.limits.processes},
                   {"processesEnforcedBy", describe_processes(r.limits, s.limits.processes)},
                   {"memoryMiB", s.limits.memory_mib},
                   {"memoryEnforcedBy", describe(r.limits.memory)}};
  return dump(out, ordered_json::error_handler_t::replace, 2) + "\n";
}

} // namespace piorch::sandbox
