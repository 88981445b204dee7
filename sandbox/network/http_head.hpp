// The head of one proxy request, read strictly: what a lenient parser would
// repair, another one repairs differently, and that is how a request hides in
// another. Everything doubtful is an error here and ends the connection. Pure,
// any thread.
#pragma once

#include "sandbox/network/host_name.hpp"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace piorch::sandbox::network {

struct http_problem {
  int status = 400; // what the client is answered with
  std::string text;
};

struct http_request {
  enum class form_type { connect, absolute };
  enum class body_type { none, length, chunked };

  form_type form = form_type::connect;
  std::string method;
  bool http_1_0 = false;
  // As the client spelled it: not yet judged, not yet canonical.
  std::string authority;
  std::string path; // origin form, of absolute requests
  bool keep_alive = true;
  body_type body = body_type::none;
  std::uint64_t length = 0;
  bool expects_continue = false;
  std::vector<std::pair<std::string, std::string>> end_to_end; // fields to pass on

  // The head to send to the origin server: origin form, our Host, no hop-by-hop
  // field, one connection per request.
  std::string forward_head(const destination& to) const;
};

// Where the head in `bytes` ends (just behind the empty line), 0 if more bytes
// are needed, or a problem: a bare LF, a NUL, more than limits::http_head_bytes.
struct head_scan {
  std::size_t end = 0;
  std::optional<http_problem> problem;
};
head_scan find_head_end(std::string_view bytes);

// `head` ends with the empty line. On a problem `request` is unspecified.
std::optional<http_problem> parse_request(std::string_view head, http_request& request);

// Names of fields that speak about one hop only; any case.
bool is_hop_by_hop(std::string_view name);

} // namespace piorch::sandbox::network
