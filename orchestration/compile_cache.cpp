#include "orchestration/compile_cache.hpp"

#include "orchestration/file.hpp"
#include "orchestration/pi_worker.hpp"

#include <array>
#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <filesystem>
#include <sys/stat.h>
#include <unistd.h>

namespace piorch::orchestration {

namespace {

namespace fs = std::filesystem;

constexpr std::time_t abandoned_after = 600; // seconds; to make one takes one or two

// FNV-1a: names a copy, protects nothing.
class fingerprint {
public:
  void add(std::string_view bytes) {
    for (const char c : bytes)
      value_ = (value_ ^ static_cast<unsigned char>(c)) * 0x100000001b3u;
    value_ *= 0x100000001b3u; // between two words
  }
  // A program that was replaced is another one.
  void add_file(const std::string& path) {
    add(path);
    struct stat st {};
    if (::stat(path.c_str(), &st) == 0)
      for (const auto part : {std::uint64_t(st.st_size), std::uint64_t(st.st_mtim.tv_sec),
                              std::uint64_t(st.st_mtim.tv_nsec), std::uint64_t(st.st_ino)})
        add(std::to_string(part));
  }
  std::string text() const {
    std::array<char, 17> out{};
    std::snprintf(out.data(), out.size(), "%016llx", static_cast<unsigned long long>(value_));
    return out.data();
  }

private:
  std::uint64_t value_ = 0xcbf29ce484222325u;
};

bool contains(const std::string& directory, const std::string& path) {
  return path.compare(0, directory.size(), directory) == 0 &&
         (path.size() == directory.size() || path[directory.size()] == '/' || directory == "/");
}

bool is_directory(const std::string& path) {
  struct stat st {};
  return ::lstat(path.c_str(), &st) == 0 && S_ISDIR(st.st_mode) && st.st_uid == ::geteuid();
}

// Who is at it, or was when it was killed.
bool is_abandoned(const std::string& path) {
  struct stat st {};
  return ::lstat(path.c_str(), &st) == 0 && st.st_mtim.tv_sec + abandoned_after < ::time(nullptr);
}

// A provider that nobody serves: the first request fails, and what makes requests is
// compiled.
constexpr const char* models =
    R"({"providers":{"none":{"baseUrl":"http://127.0.0.1:9/v1","api":"openai-completions","apiKey":"none","models":[{"id":"none","contextWindow":1000,"maxTokens":100}]}}})";
constexpr const char* settings =
    R"({"defaultProvider":"none","defaultModel":"none","retry":{"enabled":false}})";

} // namespace

std::string compile_cache::name_for(const pi_installation& pi) const {
  fingerprint f;
  f.add_file(pi.node);
  f.add_file(pi.cli);
  f.add_file(pi.package + "/package.json");
  return f.text();
}

std::string compile_cache::find(const pi_installation& pi, const std::string& workspace) const {
  const auto copy = directory_ + "/" + name_for(pi);
  return is_directory(copy) && !contains(workspace, copy) ? copy : std::string();
}

result<compile_cache::preparation> compile_cache::prepare(const pi_installation& pi) const {
  const auto slash = directory_.rfind('/');
  if (::mkdir(directory_.substr(0, slash).c_str(), 0700) != 0 && errno != EEXIST)
    return system_error("mkdir " + directory_.substr(0, slash));
  if (::mkdir(directory_.c_str(), 0700) != 0 && errno != EEXIST)
    return system_error("mkdir " + directory_);
  preparation p;
  p.final = directory_ + "/" + name_for(pi);
  p.directory = p.final + ".new";
  p.cache = p.directory + "/cache";
  if (is_abandoned(p.directory))
    drop(p);
  if (::mkdir(p.directory.c_str(), 0700) == 0)
    return p;
  if (errno == EEXIST)
    return error{failure::limit_reached, "the compile cache is being made"};
  return system_error("mkdir " + p.directory);
}

result<done> compile_cache::keep(const preparation& p) const {
  if (!is_directory(p.cache) || ::rename(p.cache.c_str(), p.final.c_str()) != 0) {
    const auto why = system_error("keep " + p.final);
    drop(p);
    return why;
  }
  drop(p);
  std::error_code ignored;
  for (const auto& entry : fs::directory_iterator(directory_, ignored))
    if (const auto path = entry.path().string();
        path != p.final && (entry.path().extension() != ".new" || is_abandoned(path)))
      fs::remove_all(entry.path(), ignored);
  return done{};
}

void compile_cache::drop(const preparation& p) {
  std::error_code ignored;
  fs::remove_all(p.directory, ignored);
}

worker_launch compile_cache::launch(const pi_installation& pi, const preparation& p,
                                    std::map<std::string, std::string> environment) {
  worker_wish wish;
  wish.environment = std::move(environment);
  wish.compile_cache = p.cache;
  agent_settings nobody;
  nobody.models_json = models;
  auto out = *make_worker_launch(pi, nobody, wish); // no word of a client is in it
  for (auto& f : out.agent_files)
    if (f.name == "settings.json")
      f.text = settings;
  return out;
}

std::string compile_cache::first_line() { return pi_worker::prompt("warm", "warm"); }

bool compile_cache::is_last_line(std::string_view output) {
  return output.find("\"agent_settled\"") != std::string_view::npos;
}

} // namespace piorch::orchestration
