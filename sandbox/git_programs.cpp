#include "sandbox/git_programs.hpp"

#include "sandbox/files.hpp"
#include "sandbox/guard/git_config.hpp"
#include "sandbox/guard/git_keys.hpp"

#include <algorithm>
#include <initializer_list>

namespace piorch::sandbox {

namespace {

using guard::config_entry;

constexpr unsigned include_depth = 10; // as Git
constexpr std::size_t files_at_most = 64;

// Without "." and "..", which the names of a policy do not have.
std::string normalized(const std::string& path) {
  std::vector<std::string> parts;
  for (std::size_t at = 0; at < path.size();) {
    const auto end = std::min(path.find('/', at), path.size());
    const std::string part = path.substr(at, end - at);
    if (part == ".." && !parts.empty())
      parts.pop_back();
    else if (!part.empty() && part != "." && part != "..")
      parts.push_back(part);
    at = end + 1;
  }
  std::string out;
  for (const std::string& part : parts)
    out += '/' + part;
  return out.empty() ? "/" : out;
}

// As a shell would, as far as finding file names in a command needs it.
std::vector<std::string> words_of(const std::string& command) {
  std::vector<std::string> out(1);
  char quote = 0;
  for (std::size_t i = command.rfind("!", 0) == 0 ? 1 : 0; i < command.size(); ++i) {
    const char c = command[i];
    if (quote ? c == quote : c == '"' || c == '\'')
      quote = quote ? char{0} : c;
    else if (c == '\\' && quote != '\'' && i + 1 < command.size())
      out.back() += command[++i];
    else if (!quote && std::string_view(" \t\n;&|()<>").find(c) != std::string_view::npos)
      out.emplace_back();
    else
      out.back() += c;
  }
  out.erase(std::remove(out.begin(), out.end(), std::string()), out.end());
  return out;
}

// Settings that are not harmless to change and yet neither run nor include what they name.
bool names_data(const config_entry& e) {
  for (const char* key :
       {"worktree", "excludesfile", "attributesfile", "template", "file", "ignorerevsfile",
        "allowedsignersfile", "revocationfile", "signingkey", "partialclonefilter"})
    if (e.key == key)
      return true;
  return e.section == "alias" && e.value.rfind("!", 0) != 0;
}

bool is_interpreter(const std::string& word) {
  std::string name = word.substr(word.rfind('/') + 1);
  name.erase(name.find_last_not_of("0123456789.") + 1);
  for (const char* known : {"sh", "bash", "dash", "ksh", "zsh", "fish", "python", "perl", "ruby",
                            "node", "deno", "bun", "php", "lua", "awk", "source", "java", "tclsh"})
    if (name == known)
      return true;
  return word == ".";
}

class finder {
public:
  finder(std::string work_tree, std::string home)
      : work_tree_(std::move(work_tree)), home_(std::move(home)) {}

  void read(const std::string& file, unsigned depth = 0) {
    const auto real = canonical(file);
    if (!real || depth > include_depth || ++files_ > files_at_most)
      return;
    const auto text = read_small_file(*real, guard::config_bytes_at_most);
    std::vector<config_entry> entries;
    if (!text || !guard::parse_config(*text, entries))
      return;
    for (const config_entry& e : entries) {
      if ((e.section == "include" || e.section == "includeif") && e.key == "path") {
        const std::string path = absolute(e.value, parent_of(*real));
        add(path, e);
        read(path, depth + 1);
      } else if (!guard::is_harmless(e) && !names_data(e)) {
        take(e);
      }
    }
  }

  std::vector<protected_path> found() { return std::move(out_); }

private:
  std::string absolute(const std::string& path, const std::string& base) const {
    if (path == "~" || path.rfind("~/", 0) == 0)
      return normalized(home_ + path.substr(1));
    return normalized(path.rfind("/", 0) == 0 ? path : join(base, path));
  }

  void take(const config_entry& e) {
    if (e.value.empty())
      return;
    if (e.key == "hookspath" || e.key == "templatedir") {
      std::string path = absolute(e.value, work_tree_);
      // husky's own directory holds only what calls the hooks beside it.
      if (path.size() > 2 && path.compare(path.size() - 2, 2, "/_") == 0)
        path = parent_of(path);
      add(path, e);
      return;
    }
    const auto words = words_of(e.value);
    bool interpreted = false;
    for (std::size_t i = 0; i < words.size(); ++i) {
      const std::string path = absolute(words[i], work_tree_);
      const auto real = canonical(path);
      const auto st = real ? look(*real) : std::nullopt;
      const bool is_program = i == 0 && words[i].find('/') != std::string::npos;
      const bool is_script = i > 0 && st && S_ISREG(st->st_mode) &&
                             (interpreted || (st->st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) != 0);
      if (is_program || is_script)
        add(path, e);
      interpreted = interpreted || is_interpreter(words[i]);
    }
  }

  void add(const std::string& path, const config_entry& e) {
    if (is_within(work_tree_, path))
      return; // the whole project cannot be protected from work on it
    const std::string reason = "the host's Git runs or reads it (" + e.name() + ")";
    out_.push_back({path, reason, exists(path)});
    if (const auto real = canonical(path); real && *real != path && !is_within(work_tree_, *real))
      out_.push_back({*real, reason, true});
  }

  const std::string work_tree_, home_;
  std::size_t files_ = 0;
  std::vector<protected_path> out_;
};

} // namespace

std::vector<protected_path> protect_git_programs(const std::string& work_tree,
                                                 const git_layout& git,
                                                 const std::vector<std::string>& homes) {
  finder f(work_tree, homes.empty() ? std::string() : homes.front());
  if (!git.git_dir.empty()) {
    f.read(join(git.common_dir, "config"));
    f.read(join(git.git_dir, "config.worktree"));
  }
  f.read("/etc/gitconfig");
  for (const std::string& home : homes)
    for (const char* name : {".gitconfig", ".config/git/config"})
      f.read(join(home, name));
  return f.found();
}

} // namespace piorch::sandbox
