#include "sandbox/network/dns_files.hpp"

#include "ipc/unique_fd.hpp"
#include "sandbox/network/host_name.hpp"

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <unistd.h>

namespace piorch::sandbox::network::dns {
namespace {

namespace ip = boost::asio::ip;
constexpr std::size_t file_max = 1u << 20;

template <class Fn> void for_each_line(std::string_view text, Fn fn) {
  while (!text.empty()) {
    const auto lf = text.find('\n');
    fn(text.substr(0, lf));
    text.remove_prefix(lf == std::string_view::npos ? text.size() : lf + 1);
  }
}

std::vector<std::string_view> words_of(std::string_view line, std::string_view comment_marks) {
  line = line.substr(0, line.find_first_of(comment_marks));
  std::vector<std::string_view> out;
  for (;;) {
    const auto start = line.find_first_not_of(" \t\r");
    if (start == std::string_view::npos)
      return out;
    line.remove_prefix(start);
    const auto end = line.find_first_of(" \t\r");
    out.push_back(line.substr(0, end));
    line.remove_prefix(end == std::string_view::npos ? line.size() : end);
  }
}

unsigned number_after(std::string_view word, std::string_view key, unsigned fallback,
                      unsigned most) {
  if (word.substr(0, key.size()) != key || word.size() == key.size() ||
      word.size() > key.size() + 3)
    return fallback;
  unsigned n = 0;
  for (char c : word.substr(key.size())) {
    if (c < '0' || c > '9')
      return fallback;
    n = n * 10 + static_cast<unsigned>(c - '0');
  }
  return std::clamp(n, 1u, most);
}

} // namespace

server_list parse_resolv_conf(std::string_view text) {
  server_list out;
  for_each_line(text, [&](std::string_view line) {
    const auto words = words_of(line, "#;");
    if (words.size() < 2)
      return;
    if (words[0] == "nameserver" && out.servers.size() < 3) {
      boost::system::error_code ec;
      const auto address = ip::make_address(std::string(words[1]), ec);
      if (!ec)
        out.servers.push_back(address);
    } else if (words[0] == "options") {
      for (auto word : words) {
        // glibc's default of five seconds is too long for a person who waits.
        out.attempt_time = std::chrono::seconds(
            number_after(word, "timeout:", static_cast<unsigned>(out.attempt_time.count()), 5));
        out.attempts = number_after(word, "attempts:", out.attempts, 3);
      }
    }
  });
  if (out.servers.empty())
    out.servers.push_back(ip::address_v4::loopback());
  return out;
}

hosts_table parse_hosts(std::string_view text) {
  hosts_table out;
  for_each_line(text, [&](std::string_view line) {
    const auto words = words_of(line, "#");
    if (words.size() < 2)
      return;
    boost::system::error_code ec;
    const auto address = ip::make_address(std::string(words[0]), ec);
    if (ec)
      return;
    for (std::size_t i = 1; i < words.size(); ++i)
      if (auto host = canonical_host(words[i]))
        out[*host].push_back(address);
  });
  return out;
}

bool file_watch::refresh() {
  struct stat now {};
  if (read_ && ::stat(path_.c_str(), &now) == 0 && now.st_ino == seen_.st_ino &&
      now.st_dev == seen_.st_dev && now.st_size == seen_.st_size &&
      now.st_mtim.tv_sec == seen_.st_mtim.tv_sec && now.st_mtim.tv_nsec == seen_.st_mtim.tv_nsec)
    return false;
  ipc::unique_fd fd(::open(path_.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  if (!fd || ::fstat(fd.get(), &now) != 0 || !S_ISREG(now.st_mode)) {
    const bool changed = !read_ || !content_.empty();
    read_ = true;
    content_.clear();
    seen_ = {};
    return changed;
  }
  content_.clear();
  char block[4096];
  while (content_.size() < file_max) {
    const auto n = ::read(fd.get(), block, sizeof block);
    if (n < 0 && errno == EINTR)
      continue;
    if (n <= 0)
      break;
    content_.append(block, static_cast<std::size_t>(n));
  }
  seen_ = now;
  read_ = true;
  return true;
}

} // namespace piorch::sandbox::network::dns
