// What /etc/resolv.conf and /etc/hosts of the broker's host say. Pure but for
// file_watch, which reads a file again only when it has changed.
#pragma once

#include <boost/asio/ip/address.hpp>

#include <chrono>
#include <map>
#include <string>
#include <string_view>
#include <sys/stat.h>
#include <vector>

namespace piorch::sandbox::network::dns {

struct server_list {
  std::vector<boost::asio::ip::address> servers; // at most three, as in glibc; never empty
  std::chrono::seconds attempt_time{2};          // per server and attempt
  unsigned attempts = 2;
};

// Search domains are not used: canonical names are absolute. No server at all
// means the one on this host, as in glibc.
server_list parse_resolv_conf(std::string_view text);

// Canonical host -> addresses, as far as the file names public-looking hosts.
using hosts_table = std::map<std::string, std::vector<boost::asio::ip::address>>;
hosts_table parse_hosts(std::string_view text);

// The content of one file, at most 1 MiB; a missing file is an empty one.
class file_watch {
public:
  explicit file_watch(std::string path) : path_(std::move(path)) {}

  // True if the content is other than at the last call (and at the first call).
  bool refresh();
  const std::string& content() const { return content_; }

private:
  std::string path_;
  std::string content_;
  struct stat seen_ {};
  bool read_ = false;
};

} // namespace piorch::sandbox::network::dns
