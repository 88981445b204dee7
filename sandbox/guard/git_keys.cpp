#include "sandbox/guard/git_keys.hpp"

#include <algorithm>
#include <initializer_list>
#include <set>

namespace piorch::sandbox::guard {

namespace {

using names = std::initializer_list<std::string_view>;

bool among(std::string_view name, names list) {
  return std::find(list.begin(), list.end(), name) != list.end();
}

bool is_core(std::string_view key) {
  return among(key, {"abbrev",
                     "autocrlf",
                     "bare",
                     "bigfilethreshold",
                     "checkroundtripencoding",
                     "checkstat",
                     "commentchar",
                     "commitgraph",
                     "compression",
                     "createobject",
                     "deltabasecachelimit",
                     "eol",
                     "filemode",
                     "filesreflocktimeout",
                     "fscache",
                     "fsync",
                     "fsyncmethod",
                     "fsyncobjectfiles",
                     "hidedotfiles",
                     "ignorecase",
                     "ignorestat",
                     "logallrefupdates",
                     "longpaths",
                     "loosecompression",
                     "multipackindex",
                     "packedgitlimit",
                     "packedgitwindowsize",
                     "packedrefstimeout",
                     "precomposeunicode",
                     "preloadindex",
                     "quotepath",
                     "repositoryformatversion",
                     "restrictinheritedhandles",
                     "safecrlf",
                     "sparsecheckout",
                     "sparsecheckoutcone",
                     "splitindex",
                     "symlinks",
                     "trustctime",
                     "untrackedcache",
                     "warnambiguousrefs",
                     "whitespace"});
}

// transport::address, and transport://address of a transport that Git does not have built in,
// make Git run git-remote-transport, wherever it takes the name of a remote too.
bool is_plain_url(std::string_view url) {
  if (!url.empty() && url.front() == '-')
    return false;
  const auto scheme = url.substr(0, url.find("://"));
  if (scheme.size() < url.size() && scheme.find('/') == std::string_view::npos &&
      !among(scheme, {"http", "https", "ssh", "git", "git+ssh", "ssh+git", "file"}))
    return false;
  const auto colon = url.find("::");
  if (colon == std::string_view::npos)
    return true;
  return !std::all_of(url.begin(), url.begin() + static_cast<std::ptrdiff_t>(colon), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '+' ||
           c == '-' || c == '.' || c == '_';
  });
}

// A submodule's own directory: `value`, relative to .git/modules/NAME, must lead
// into the work tree around that .git and not into any .git.
bool stays_in_superproject(std::string_view git_dir, std::string_view value) {
  const auto modules = git_dir.find("/.git/modules/");
  if (modules == std::string_view::npos || value.empty() || value.front() == '/')
    return false;
  std::vector<std::string_view> at;
  std::size_t floor = 0;
  const auto split = [](std::string_view path, auto&& each) {
    for (std::size_t i = 0; i < path.size();) {
      const auto end = std::min(path.find('/', i), path.size());
      if (end > i)
        each(path.substr(i, end - i));
      i = end + 1;
    }
  };
  split(git_dir.substr(0, modules), [&](std::string_view) { ++floor; });
  split(git_dir, [&](std::string_view part) { at.push_back(part); });
  bool below = true, named = false;
  split(value, [&](std::string_view part) {
    if (part == "..") { // up first, then down: links cannot change what that means
      below = below && !named && at.size() > floor;
      if (!at.empty())
        at.pop_back();
    } else if (part != ".") {
      named = true;
      at.push_back(part);
    }
  });
  if (!below || at.size() <= floor)
    return false;
  return std::none_of(at.begin() + static_cast<std::ptrdiff_t>(floor), at.end(),
                      [](std::string_view part) {
                        return part.size() >= 4 && part[0] == '.' && (part[1] | 32) == 'g' &&
                               (part[2] | 32) == 'i' && (part[3] | 32) == 't';
                      });
}

bool is_remote(const config_entry& e) {
  if (e.subsection.empty())
    return e.key == "pushdefault" && is_plain_url(e.value);
  if (!is_plain_url(e.subsection)) // the address of a remote without one is its name
    return false;
  if (among(e.key, {"url", "pushurl"}))
    return is_plain_url(e.value);
  return among(e.key, {"fetch", "push", "tagopt", "prune", "prunetags", "mirror",
                       "skipdefaultupdate", "skipfetchall", "followremotehead", "gh-resolved"});
}

bool is_submodule(const config_entry& e) {
  if (e.subsection.empty())
    return among(e.key, {"recurse", "active", "fetchjobs", "propagatebranches", "alternatelocation",
                         "alternateerrorstrategy"});
  if (e.key == "url")
    return is_plain_url(e.value);
  if (e.key == "update")
    return among(e.value, {"checkout", "rebase", "merge", "none"});
  return among(e.key, {"active", "branch", "fetchrecursesubmodules", "ignore", "shallow"});
}

bool is_diff(const config_entry& e) {
  if (!e.subsection.empty())
    return among(e.key,
                 {"algorithm", "binary", "cachetextconv", "funcname", "wordregex", "xfuncname"});
  return among(e.key,
               {"algorithm", "autorefreshindex", "colormoved", "colormovedws", "context", "dirstat",
                "ignoresubmodules", "indentheuristic", "interhunkcontext", "mnemonicprefix",
                "noprefix", "relative", "renamelimit", "renames", "statgraphwidth", "statnamewidth",
                "submodule", "suppressblankempty", "wserrorhighlight"});
}

// Newer versions of Git put keys like gc.recentObjectsHook even into harmless sections.
// Signing, and checking a signature, starts gpg or ssh-keygen.
bool sounds_dangerous(std::string_view key) {
  for (std::string_view word : {"hook", "command", "cmd", "program", "path", "file", "driver",
                                "editor", "pager", "external", "helper", "exec", "skiplist", "uri",
                                "tool", "mergeoptions", "sign", "filterto"})
    if (key.find(word) != std::string_view::npos)
      return true;
  return false;
}

// Sections of which every other key is a plain switch, number or pattern.
bool is_plain_section(std::string_view section) {
  return among(section, {"advice", "apply",   "checkout", "clone",       "color",   "column",
                         "fetch",  "feature", "gc",       "grep",        "i18n",    "index",
                         "log",    "notes",   "pack",     "rerere",      "sparse",  "stash",
                         "status", "tag",     "user",     "versionsort", "worktree"});
}

} // namespace

bool is_harmless(const config_entry& e) {
  const std::string_view section = e.section, key = e.key;
  if (section == "core")
    return e.subsection.empty() && is_core(key);
  if (section == "remote")
    return is_remote(e);
  if (section == "submodule")
    return is_submodule(e);
  if (section == "branch") // mergeoptions may name a strategy, which is a program
    return !sounds_dangerous(key) &&
           (!among(key, {"remote", "pushremote"}) || is_plain_url(e.value));
  if (section == "diff")
    return is_diff(e);
  if (section == "extensions") // worktreeconfig makes Git read another file
    return among(key, {"compatobjectformat", "noop", "noop-v1", "objectformat", "preciousobjects",
                       "refstorage", "relativeworktrees"});
  if (section == "merge")
    return e.subsection.empty() &&
           among(key, {"autostash", "conflictstyle", "directoryrenames", "ff", "log", "renamelimit",
                       "renames", "renormalize", "stat", "suppressdest", "verbosity"});
  if (section == "pull")
    return among(key, {"ff", "rebase"});
  if (section == "push")
    return among(key, {"autosetupremote", "default", "followtags", "negotiate", "recursesubmodules",
                       "useforceifincludes"});
  if (section == "rebase")
    return among(key, {"abbreviatecommands", "autosquash", "autostash", "forkpoint",
                       "missingcommitscheck", "rebasemerges", "reschedulefailedexec", "stat",
                       "updaterefs"});
  if (section == "commit")
    return among(key, {"cleanup", "status", "verbose"});
  if (section == "receive" || section == "transfer")
    return among(key, {"advertiseatomic", "advertisepushoptions", "autogc", "denycurrentbranch",
                       "denydeletecurrent", "denydeletes", "denynonfastforwards", "fsckobjects",
                       "hiderefs", "unpacklimit", "updateserverinfo", "shallowupdate"});
  if (section == "blame")
    return among(key, {"blankboundary", "coloring", "date", "showemail", "showroot"});
  if (section == "init")
    return key == "defaultbranch" || key == "defaultobjectformat" || key == "defaultrefformat";
  if (section == "http")
    return among(key, {"lowspeedlimit", "lowspeedtime", "maxrequests", "postbuffer", "version"});
  if (section == "lfs")
    return among(key, {"access", "locksverify", "repositoryformatversion"});
  if (section ==
      "maintenance") // incremental-repack removes what a multi-pack-index names, anywhere
    return e.subsection.empty() && key == "auto";
  if (section == "gui")
    return among(key, {"geometry", "wmstate"});
  return is_plain_section(section) && !sounds_dangerous(key);
}

namespace {

bool same_key(const config_entry& a, const config_entry& b) {
  return a.section == b.section && a.subsection == b.subsection && a.key == b.key;
}

// All values of one key, in order: the last one counts, so order is part of it.
std::vector<const config_entry*> all_of_key(const std::vector<config_entry>& list,
                                            const config_entry& like) {
  std::vector<const config_entry*> out;
  for (const auto& e : list)
    if (same_key(e, like))
      out.push_back(&e);
  return out;
}

// Where Git gets objects from that are not there, without being asked to fetch.
std::set<std::string_view> promisors(const std::vector<config_entry>& list) {
  std::set<std::string_view> out;
  for (const auto& e : list)
    if (e.section == "remote" && among(e.key, {"promisor", "partialclonefilter"}))
      out.insert(e.subsection);
    else if (e.section == "extensions" && e.key == "partialclone")
      out.insert(e.value);
  return out;
}

} // namespace

namespace {

std::vector<std::string> work_trees(std::string_view text) {
  std::vector<config_entry> all;
  std::vector<std::string> out;
  if (parse_config(text, all))
    for (const auto& e : all)
      if (e.section == "core" && e.subsection.empty() && e.key == "worktree")
        out.push_back(e.value);
  return out;
}

std::string_view without_blanks_in_front(std::string_view line) {
  const auto at = line.find_first_not_of(" \t");
  return at == std::string_view::npos ? std::string_view() : line.substr(at);
}

} // namespace

std::string without_work_tree(std::string_view old, const std::string& fresh,
                              std::string_view git_dir) {
  const auto values = work_trees(fresh);
  if (values.size() != 1 || values == work_trees(old) ||
      !stays_in_superproject(git_dir, values.front()))
    return fresh;
  // As Git writes it: on a line of its own. Otherwise it stays, and is refused.
  std::string out;
  bool in_core = false;
  for (std::size_t at = 0; at < fresh.size();) {
    const auto end = std::min(fresh.find('\n', at), fresh.size() - 1) + 1;
    const auto line = without_blanks_in_front(std::string_view(fresh).substr(at, end - at));
    if (!line.empty() && line.front() == '[')
      in_core = line == "[core]\n";
    if (!in_core || line.substr(0, 9) != "worktree " || line.find('\\') != std::string_view::npos)
      out.append(fresh, at, end - at);
    at = end;
  }
  return out;
}

bool may_be_sha256(std::string_view config) {
  std::string low(config);
  for (char& c : low)
    c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  if (low.find("objectformat") == std::string::npos) // keys cannot be spelled otherwise
    return false;
  std::vector<config_entry> all;
  return !parse_config(config, all) ||
         std::any_of(all.begin(), all.end(), [](const config_entry& e) {
           return e.section == "extensions" && e.subsection.empty() && e.key == "objectformat" &&
                  e.value != "sha1";
         });
}

std::string first_refused(std::string_view old, std::string_view fresh, settings_of what) {
  std::vector<config_entry> before, after;
  if (!parse_config(fresh, after))
    return "(unreadable)";
  if (!parse_config(old, before))
    before.clear();
  const auto unasked = promisors(after); // new ones are refused, as is any change of one
  const auto keeps_address = [&](const config_entry& e) {
    return e.section == "remote" && e.key == "url" &&
           (what == settings_of::work_tree || unasked.count(e.subsection) != 0);
  };
  // A bare repository runs its hooks and programs from wherever Git is called.
  const auto is_bare = [](const config_entry& e) {
    return e.section == "core" && e.subsection.empty() && e.key == "bare";
  };
  const bool keeps_bare =
      what == settings_of::work_tree || std::any_of(before.begin(), before.end(), is_bare);
  for (const auto& e : after) {
    if (is_harmless(e) && !keeps_address(e) && !(keeps_bare && is_bare(e) && e.value != "false"))
      continue;
    const auto was = all_of_key(before, e), is = all_of_key(after, e);
    const bool unchanged = std::equal(was.begin(), was.end(), is.begin(), is.end(),
                                      [](const config_entry* a, const config_entry* b) {
                                        return a->value == b->value && a->has_value == b->has_value;
                                      });
    if (!unchanged)
      return e.name();
  }
  for (const auto& e : before) // without an address the name of the remote is one
    if (keeps_address(e) && all_of_key(after, e).empty())
      return e.name();
  return {};
}

} // namespace piorch::sandbox::guard
