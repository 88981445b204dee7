// Reads a Seatbelt profile and answers what it decides: a small S-expression
// parser, and the rule that the last rule that matches wins. Knows only the
// words that our profiles use, so that a misspelt one is an error.
#pragma once

#include <algorithm>
#include <map>
#include <memory>
#include <regex.h>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <vector>

namespace piorch::test {

struct sexp {
  enum class kind_type { list, word, string, pattern };
  kind_type kind = kind_type::list;
  std::string text;
  std::vector<sexp> items;

  const std::string& head() const {
    static const std::string none;
    return kind == kind_type::list && !items.empty() ? items[0].text : none;
  }
};

class sexp_reader {
public:
  explicit sexp_reader(std::string_view text) : text_(text) {}

  std::vector<sexp> read_all() {
    std::vector<sexp> out;
    for (skip(); at_ < text_.size(); skip())
      out.push_back(read());
    return out;
  }

private:
  char peek() const {
    if (at_ >= text_.size())
      throw std::runtime_error("the profile ends in the middle");
    return text_[at_];
  }
  char next() {
    const char c = peek();
    ++at_;
    return c;
  }
  void skip() {
    while (at_ < text_.size()) {
      if (text_[at_] == ';')
        at_ = std::min(text_.find('\n', at_), text_.size());
      else if (text_[at_] == ' ' || text_[at_] == '\n')
        ++at_;
      else
        return;
    }
  }
  sexp read() {
    const char c = next();
    if (c == '(') {
      sexp out;
      for (skip(); peek() != ')'; skip())
        out.items.push_back(read());
      ++at_;
      return out;
    }
    if (c == '"') {
      sexp out{sexp::kind_type::string, {}, {}};
      for (char d = next(); d != '"'; d = next()) {
        if (d == '\\' && (d = next()) != '"' && d != '\\')
          throw std::runtime_error("an escape that is not known");
        if (static_cast<unsigned char>(d) < 0x20)
          throw std::runtime_error("a control character in a string");
        out.text += d;
      }
      return out;
    }
    if (c == '#' && peek() == '"') {
      ++at_;
      sexp out{sexp::kind_type::pattern, {}, {}};
      for (char d = next(); d != '"'; d = next()) {
        if (d == '\\' || static_cast<unsigned char>(d) < 0x20)
          throw std::runtime_error("what this means in a pattern is not documented");
        out.text += d;
      }
      return out;
    }
    if (c == ')')
      throw std::runtime_error("a ) too many");
    sexp out{sexp::kind_type::word, std::string(1, c), {}};
    while (at_ < text_.size() && std::string_view(" \n();\"").find(text_[at_]) == std::string::npos)
      out.text += text_[at_++];
    return out;
  }

  std::string_view text_;
  std::size_t at_ = 0;
};

// Does the extended regular expression occur in `text`? Compiled once: a test
// asks about one profile many times.
inline bool matches(const std::string& expression, const std::string& text) {
  struct compiled {
    explicit compiled(const std::string& source) {
      if (::regcomp(&value, source.c_str(), REG_EXTENDED | REG_NOSUB) != 0)
        throw std::runtime_error("not a regular expression: " + source);
    }
    compiled(const compiled&) = delete;
    compiled& operator=(const compiled&) = delete;
    ~compiled() { ::regfree(&value); }
    regex_t value{};
  };
  static std::map<std::string, std::unique_ptr<compiled>> known;
  auto& one = known[expression];
  if (!one)
    one = std::make_unique<compiled>(expression);
  return ::regexec(&one->value, text.c_str(), 0, nullptr, 0) == 0;
}

struct sbpl_access {
  std::string operation; // file-write-create …
  std::string path;
  std::string vnode = "REGULAR-FILE";
  std::string remote; // "localhost:41080", "unix"
};

class sbpl_profile {
public:
  explicit sbpl_profile(const std::string& text) : forms_(sexp_reader(text).read_all()) {
    for (const sexp& f : forms_)
      check(f);
  }

  const std::vector<sexp>& forms() const { return forms_; }

  bool allows(const sbpl_access& a) const {
    bool decision = false;
    for (const sexp& f : forms_)
      if (f.head() != "version" && concerns(f, a))
        decision = f.head() == "allow";
    return decision;
  }

private:
  static void check(const sexp& f) {
    static const std::set<std::string> operations{
        "default",         "process-exec",        "process-fork",        "process-info*",
        "signal",          "mach-priv-task-port", "sysctl-read",         "sysctl-write",
        "mach-lookup",     "ipc-posix-sem",       "ipc-posix-shm-read*", "user-preference-read",
        "pseudo-tty",      "file-ioctl",          "file-read*",          "file-write*",
        "file-write-data", "file-write-create",   "file-write-unlink",   "file-read-metadata",
        "file-link",       "file-test-existence", "network-outbound",    "network-bind",
        "network-inbound", "system-socket"};
    if (f.kind != sexp::kind_type::list || f.items.size() < 2)
      throw std::runtime_error("not a form");
    if (f.head() == "version")
      return;
    if (f.head() != "allow" && f.head() != "deny")
      throw std::runtime_error("no such form: " + f.head());
    std::size_t words = 0;
    for (std::size_t i = 1; i < f.items.size(); ++i)
      if (f.items[i].kind == sexp::kind_type::word) {
        if (++words != i || !operations.count(f.items[i].text))
          throw std::runtime_error("not an operation: " + f.items[i].text);
      } else if (f.items[i].kind != sexp::kind_type::list)
        throw std::runtime_error("a bare string in a rule");
    if (words == 0)
      throw std::runtime_error("a rule without an operation");
  }

  static bool operation_matches(const std::string& pattern, const std::string& name) {
    if (pattern == "default")
      return true;
    if (pattern.back() == '*')
      return name.compare(0, pattern.size() - 1, pattern, 0, pattern.size() - 1) == 0;
    return pattern == name;
  }

  static bool concerns(const sexp& f, const sbpl_access& a) {
    bool operation = false, filtered = false, matched = false;
    for (std::size_t i = 1; i < f.items.size(); ++i) {
      const sexp& item = f.items[i];
      if (item.kind == sexp::kind_type::word)
        operation = operation || operation_matches(item.text, a.operation);
      else if (item.head() != "with") {
        filtered = true;
        matched = matched || filter(item, a);
      }
    }
    return operation && (!filtered || matched);
  }

  static bool filter(const sexp& f, const sbpl_access& a) {
    const auto any = [&](bool wanted) {
      return std::any_of(f.items.begin() + 1, f.items.end(),
                         [&](const sexp& x) { return filter(x, a) == wanted; });
    };
    const std::string& what = f.head();
    if (what == "require-all")
      return !any(false);
    if (what == "require-any")
      return any(true);
    if (what == "require-not")
      return !filter(f.items.at(1), a);
    const sexp& value = f.items.at(1);
    const std::string& text = value.text;
    if (what == "literal")
      return value.kind == sexp::kind_type::string && a.path == text;
    if (what == "subpath") // (param …) is a directory that no test asks about
      return value.kind == sexp::kind_type::string &&
             (a.path == text || a.path.compare(0, text.size() + 1, text + "/") == 0);
    if (what == "regex") {
      if (value.kind != sexp::kind_type::pattern)
        throw std::runtime_error("a regex that is no pattern");
      return matches(text, a.path);
    }
    if (what == "vnode-type")
      return a.vnode == text;
    if (what == "remote" || what == "local")
      return text == "unix-socket" ? a.remote == "unix"
                                   : text == "ip" && f.items.at(2).text == a.remote;
    static const std::set<std::string> others{"target",        "global-name",
                                              "sysctl-name",   "sysctl-name-prefix",
                                              "socket-domain", "ipc-posix-name"};
    if (others.count(what))
      return a.path == text;
    throw std::runtime_error("no such filter: " + what);
  }

  std::vector<sexp> forms_;
};

} // namespace piorch::test
