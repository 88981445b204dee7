#include "sandbox/environment.hpp"

#include "sandbox/files.hpp"

#include <algorithm>
#include <unistd.h>

namespace piorch::sandbox {

namespace {

bool is_named(const std::string& entry, std::string_view name) {
  return entry.size() > name.size() && entry[name.size()] == '=' &&
         entry.compare(0, name.size(), name) == 0;
}

} // namespace

environment environment::of_this_process() {
  std::vector<std::string> entries;
  for (char** e = environ; e && *e; ++e)
    entries.emplace_back(*e);
  return environment(std::move(entries));
}

environment::environment(std::vector<std::string> entries) {
  for (std::string& entry : entries)
    if (entry.find('=') != std::string::npos && entry.front() != '=')
      entries_.push_back(std::move(entry));
}

const std::string* environment::find(std::string_view name) const {
  const auto at = std::find_if(entries_.begin(), entries_.end(),
                               [&](const std::string& entry) { return is_named(entry, name); });
  return at == entries_.end() ? nullptr : &*at;
}

std::string_view environment::value(std::string_view name) const {
  const std::string* entry = find(name);
  return entry ? std::string_view(*entry).substr(name.size() + 1) : std::string_view();
}

void environment::set(std::string_view name, std::string_view value) {
  unset(name);
  entries_.push_back(std::string(name) + "=" + std::string(value));
}

void environment::set_default(std::string_view name, std::string_view value) {
  if (!find(name))
    set(name, value);
}

void environment::unset(std::string_view name) {
  entries_.erase(std::remove_if(entries_.begin(), entries_.end(),
                                [&](const std::string& entry) { return is_named(entry, name); }),
                 entries_.end());
}

environment minimal(const environment& from) {
  environment out;
  for (const char* name :
       {"PATH", "HOME", "USER", "LOGNAME", "SHELL", "TERM", "COLORTERM", "LANG", "LC_ALL", "TZ"})
    if (const std::string* entry = from.find(name))
      out.set(name, std::string_view(*entry).substr(std::string_view(name).size() + 1));
  out.set_default("PATH", "/usr/local/bin:/usr/bin:/bin");
  return out;
}

void prepare_for_sandbox(environment& e, const std::string& scratch) {
  std::vector<std::string> kept;
  for (const std::string& entry : e.entries())
    if (entry.compare(0, 7, "PIORCH_") != 0)
      kept.push_back(entry);
  e = environment(std::move(kept));
  e.set("PIORCH_SANDBOX", "1");
  for (const char* name : {"TMPDIR", "TMP", "TEMP"})
    if (scratch.empty())
      e.unset(name);
    else
      e.set(name, scratch);
  if (!scratch.empty()) {
    // The home is hidden and read-only; these caches would otherwise fail in it.
    e.set_default("XDG_CACHE_HOME", join(scratch, "cache"));
    e.set_default("npm_config_cache", join(scratch, "npm-cache"));
  }
}

const char* default_shell() { return ::access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh"; }

} // namespace piorch::sandbox
