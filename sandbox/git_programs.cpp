#include "sandbox/git_programs.hpp"

#include "sandbox/command_words.hpp"
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
constexpr std::size_t directories_at_most = 16; // that a command names

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
  for (const char* known :
       {"sh", "bash", "dash", "ksh", "zsh", "fish", "python", "perl", "ruby", "node", "deno", "bun",
        "php", "lua", "awk", "source", "java", "tclsh", "eval"})
    if (name == known)
      return true;
  return word == ".";
}

bool looks_like_a_script(const std::string& word) {
  if (word.empty() || word[0] == '-' || word.find_first_of(" \t;&|()%\1") != word.npos)
    return false;
  const auto dot = word.rfind('.');
  for (const char* end : {".sh", ".py", ".js", ".mjs", ".cjs", ".ts", ".rb", ".pl", ".php", ".lua"})
    if (dot != word.npos && word.substr(dot) == end)
      return true;
  return false;
}

// It does not run the files that it is given, unless they can be run by themselves.
bool takes_data(const std::string& program) {
  const std::string name = program.substr(program.rfind('/') + 1);
  for (const char* known :
       {"git", "cat", "less", "head", "tail", "grep", "echo", "printf", "cd", "test", "["})
    if (name == known)
      return true;
  return false;
}

class finder {
public:
  finder(std::string work_tree, std::string home)
      : work_tree_(std::move(work_tree)), home_(std::move(home)) {}

  // `linked`: the settings are a repository's, which count in its linked work trees.
  void read_settings(const std::string& file, bool linked) {
    linked_ = linked;
    read(file);
  }

  git_programs found() { return std::move(out_); }

private:
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
      add_in_trees(e.value, path, e);
      // husky's own directory holds only what calls the hooks beside it.
      if (path.size() > 2 && path.compare(path.size() - 2, 2, "/_") == 0)
        path = parent_of(path);
      add(path, e);
      return;
    }
    const auto words = words_of(e.value);
    const auto places = directories_named(words);
    bool interpreted = false;
    for (const command_word& word : words) {
      const auto names = names_in(word.text);
      bool is_there = false;
      for (const std::string& name : names)
        for (const std::string& place : places)
          if (const std::string path = absolute(name, place);
              is_program(word, name == names.front()) || is_script(word, path, interpreted)) {
            add(path, e);
            add_in_trees(name, path, e);
            is_there = true;
          }
      // On another branch, or still to come.
      if (!is_there && is_interpreter(word.program) && looks_like_a_script(word.text))
        for (const std::string& place : places) {
          const std::string path = absolute(word.text, place);
          add(path, e);
          add_in_trees(word.text, path, e);
        }
      interpreted = interpreted || is_interpreter(word.text);
    }
  }

  // "cd x && ./y": other words can be relative to any of them.
  std::vector<std::string> directories_named(const std::vector<command_word>& words) const {
    std::vector<std::string> out{work_tree_};
    for (const command_word& word : words)
      for (const std::string& name : names_in(word.text))
        for (std::size_t i = 0; i < out.size() && out.size() < directories_at_most; ++i) {
          const std::string path = absolute(name, out[i]);
          if (is_within(path, work_tree_) && canonical(join(path, ".")) &&
              std::find(out.begin(), out.end(), path) == out.end())
            out.push_back(path);
        }
    return out;
  }

  // To be protected also when it is not there. Without a slash it is not of the work tree.
  static bool is_program(const command_word& word, bool as_it_is) {
    return word.program.empty() && as_it_is && word.text.find('/') != std::string::npos;
  }

  bool is_script(const command_word& word, const std::string& path, bool interpreted) const {
    if (word.program.empty() && word.text.find('/') == std::string::npos)
      return false; // looked for in PATH
    const auto real = canonical(path);
    const auto st = real ? look(*real) : std::nullopt;
    return st && S_ISREG(st->st_mode) &&
           (interpreted || !takes_data(word.program) ||
            (st->st_mode & (S_IXUSR | S_IXGRP | S_IXOTH)) != 0);
  }

  static std::string reason(const config_entry& e) {
    return "the host's Git runs or reads it (" + e.name() + ")";
  }

  void add(const std::string& path, const config_entry& e) {
    if (is_within(work_tree_, path))
      return; // the whole project cannot be protected from work on it
    out_.here.push_back({path, reason(e), exists(path)});
    if (const auto real = canonical(path); real && *real != path && !is_within(work_tree_, *real))
      out_.here.push_back({*real, reason(e), true});
  }

  // What `name` is here as `path`.
  void add_in_trees(const std::string& name, const std::string& path, const config_entry& e) {
    if (name.empty() || name[0] == '/' || name[0] == '~' || path == work_tree_)
      return;
    // Above the tree it can be anything: "".
    const bool inside = is_within(path, work_tree_);
    tree_program p{inside ? relative_to(path, work_tree_) : std::string(), linked_, reason(e)};
    if (p.path == ".git" || p.path == ".git/hooks" || p.path.rfind(".git/hooks/", 0) == 0)
      return; // the guard knows these
    const auto same = [&](const tree_program& q) {
      return q.path == p.path && q.linked == p.linked;
    };
    if (std::none_of(out_.in_trees.begin(), out_.in_trees.end(), same))
      out_.in_trees.push_back(std::move(p));
  }

  const std::string work_tree_, home_;
  std::size_t files_ = 0;
  bool linked_ = false;
  git_programs out_;
};

} // namespace

git_programs find_git_programs(const std::string& work_tree, const git_layout& git,
                               const std::vector<std::string>& homes) {
  finder f(work_tree, homes.empty() ? std::string() : homes.front());
  if (!git.git_dir.empty() && is_repository(git.common_dir)) {
    f.read_settings(join(git.common_dir, "config"), true);
    f.read_settings(join(git.git_dir, "config.worktree"), true);
  }
  f.read_settings("/etc/gitconfig", false);
  for (const std::string& home : homes)
    for (const char* name : {".gitconfig", ".config/git/config"})
      f.read_settings(join(home, name), false);
  return f.found();
}

} // namespace piorch::sandbox
