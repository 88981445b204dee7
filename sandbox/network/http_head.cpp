#include "sandbox/network/http_head.hpp"

#include "config/network_limits.hpp"

#include <algorithm>
#include <array>

namespace piorch::sandbox::network {
namespace {

constexpr std::size_t fields_max = 200;

http_problem bad(std::string text) { return {400, std::move(text)}; }

char lower(char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c; }

bool same(std::string_view a, std::string_view b) {
  return a.size() == b.size() && std::equal(a.begin(), a.end(), b.begin(),
                                            [](char x, char y) { return lower(x) == lower(y); });
}

bool is_token_char(char c) { // RFC 9110, section 5.6.2
  static constexpr std::string_view marks = "!#$%&'*+-.^_`|~";
  return (c >= '0' && c <= '9') || (lower(c) >= 'a' && lower(c) <= 'z') ||
         marks.find(c) != std::string_view::npos;
}

bool is_token(std::string_view s) {
  return !s.empty() && std::all_of(s.begin(), s.end(), is_token_char);
}

std::string_view trim(std::string_view s) {
  while (!s.empty() && (s.front() == ' ' || s.front() == '\t'))
    s.remove_prefix(1);
  while (!s.empty() && (s.back() == ' ' || s.back() == '\t'))
    s.remove_suffix(1);
  return s;
}

// Calls fn for each element of a comma-separated list.
template <class Fn> void for_each_element(std::string_view list, Fn fn) {
  for (;;) {
    auto comma = list.find(',');
    if (auto element = trim(list.substr(0, comma)); !element.empty())
      fn(element);
    if (comma == std::string_view::npos)
      return;
    list.remove_prefix(comma + 1);
  }
}

constexpr std::array<std::string_view, 9> hop_by_hop = {"connection",
                                                        "keep-alive",
                                                        "proxy-connection",
                                                        "proxy-authenticate",
                                                        "proxy-authorization",
                                                        "te",
                                                        "trailer",
                                                        "transfer-encoding",
                                                        "upgrade"};

// One pass over the fields; what they say about framing and the hop.
struct field_facts {
  std::optional<std::uint64_t> length;
  bool chunked = false;
  bool close = false;
  bool keep_alive = false;
  bool websocket = false;
  std::optional<std::string> host;
  std::vector<std::string> named_by_connection;
};

std::optional<http_problem> read_length(std::string_view value, field_facts& facts) {
  if (facts.length)
    return bad("two Content-Length fields");
  if (value.empty() || value.size() > 18 ||
      !std::all_of(value.begin(), value.end(), [](char c) { return c >= '0' && c <= '9'; }))
    return bad("a Content-Length that is not a number");
  std::uint64_t n = 0;
  for (char c : value)
    n = n * 10 + static_cast<std::uint64_t>(c - '0');
  facts.length = n;
  return std::nullopt;
}

std::optional<http_problem> read_field(std::string_view name, std::string_view value,
                                       field_facts& facts) {
  if (same(name, "content-length"))
    return read_length(value, facts);
  if (same(name, "transfer-encoding")) {
    if (facts.chunked)
      return bad("two Transfer-Encoding fields");
    if (!same(value, "chunked"))
      return http_problem{501, "a Transfer-Encoding other than 'chunked'"};
    facts.chunked = true;
  } else if (same(name, "host")) {
    if (facts.host)
      return bad("two Host fields");
    facts.host = std::string(value);
  } else if (same(name, "connection") || same(name, "proxy-connection")) {
    for_each_element(value, [&](std::string_view option) {
      if (same(option, "close"))
        facts.close = true;
      else if (same(option, "keep-alive"))
        facts.keep_alive = true;
      else
        facts.named_by_connection.emplace_back(option);
    });
  } else if (same(name, "upgrade")) {
    for_each_element(value, [&](std::string_view protocol) {
      if (same(protocol, "websocket"))
        facts.websocket = true;
    });
  }
  return std::nullopt;
}

std::optional<http_problem> read_request_line(std::string_view line, http_request& r) {
  const auto first = line.find(' ');
  const auto last = line.rfind(' ');
  if (first == std::string_view::npos || first == last)
    return bad("a request line that is not 'METHOD TARGET HTTP/1.x'");
  const auto method = line.substr(0, first);
  const auto target = line.substr(first + 1, last - first - 1);
  const auto version = line.substr(last + 1);
  if (!is_token(method))
    return bad("a method that is not a token");
  if (version != "HTTP/1.1" && version != "HTTP/1.0")
    return http_problem{505, "an HTTP version other than 1.0 and 1.1"};
  if (target.empty() ||
      !std::all_of(target.begin(), target.end(), [](char c) { return c > 0x20 && c < 0x7f; }))
    return bad("a request target with white space or bytes that are not ASCII");
  r.method = std::string(method);
  r.http_1_0 = version == "HTTP/1.0";
  if (method == "CONNECT") {
    r.form = http_request::form_type::connect;
    r.authority = std::string(target);
    return std::nullopt;
  }
  r.form = http_request::form_type::absolute;
  constexpr std::string_view scheme = "http://";
  if (target.size() < scheme.size() || !same(target.substr(0, scheme.size()), scheme))
    return bad(
        target.front() == '/' || target == "*"
            ? "this is a proxy: it takes CONNECT and http:// requests, not an origin-form one"
            : "a request target that is not an http:// URL (for https use CONNECT)");
  auto rest = target.substr(scheme.size());
  const auto slash = rest.find_first_of("/?#");
  r.authority = std::string(rest.substr(0, slash));
  rest = slash == std::string_view::npos ? std::string_view{} : rest.substr(slash);
  if (rest.find('#') != std::string_view::npos)
    return bad("a fragment in the request target");
  r.path = rest.empty() ? "/" : rest.front() == '?' ? '/' + std::string(rest) : std::string(rest);
  return std::nullopt;
}

// The Host field must name what the request line names, or a server behind may
// answer for another host than the one that was judged.
bool host_agrees(std::string_view host, const http_request& r) {
  const std::uint16_t fallback = r.form == http_request::form_type::connect ? 443 : 80;
  auto a = parse_authority(host, fallback);
  auto b = parse_authority(r.authority, fallback);
  if (a && b)
    return r.form == http_request::form_type::connect ? a->host == b->host : *a == *b;
  return !a && !b && same(host, r.authority); // both refused later, by the name
}

} // namespace

bool is_hop_by_hop(std::string_view name) {
  return std::any_of(hop_by_hop.begin(), hop_by_hop.end(), [&](auto h) { return same(h, name); });
}

head_scan find_head_end(std::string_view bytes) {
  std::size_t at = 0;
  for (;;) {
    const auto lf = bytes.find('\n', at);
    const auto piece = bytes.substr(at, lf == std::string_view::npos ? lf : lf - at);
    if (piece.find('\0') != std::string_view::npos)
      return {0, bad("a NUL byte in the request head")};
    if (lf == std::string_view::npos)
      break;
    if (lf == 0 || bytes[lf - 1] != '\r')
      return {0, bad("a line that does not end with CR LF")};
    if (lf - at == 1) { // an empty line
      if (at == 0)
        return {0, bad("an empty line where a request was expected")};
      if (lf + 1 > limits::http_head_bytes)
        break;
      return {lf + 1, std::nullopt};
    }
    at = lf + 1;
  }
  if (bytes.size() >= limits::http_head_bytes)
    return {0, http_problem{431, "a request head of more than 64 KiB"}};
  return {};
}

std::optional<http_problem> parse_request(std::string_view head, http_request& request) {
  request = {};
  field_facts facts;
  std::vector<std::pair<std::string_view, std::string_view>> fields;
  bool first = true;
  while (!head.empty()) {
    const auto end = head.find("\r\n");
    if (end == std::string_view::npos)
      return bad("a request head that does not end");
    const auto line = head.substr(0, end);
    head.remove_prefix(end + 2);
    for (char c : line)
      if (static_cast<unsigned char>(c) < 0x20 && c != '\t')
        return bad("a control character in the request head");
    if (first) {
      if (auto problem = read_request_line(line, request))
        return problem;
      first = false;
      continue;
    }
    if (line.empty()) {
      if (!head.empty())
        return bad("bytes behind the empty line");
      break;
    }
    if (line.front() == ' ' || line.front() == '\t')
      return bad("a folded header line");
    const auto colon = line.find(':');
    if (colon == std::string_view::npos || !is_token(line.substr(0, colon)))
      return bad("a header line without a proper name");
    if (fields.size() == fields_max)
      return http_problem{431, "more than 200 header fields"};
    const auto name = line.substr(0, colon);
    const auto value = trim(line.substr(colon + 1));
    if (auto problem = read_field(name, value, facts))
      return problem;
    fields.emplace_back(name, value);
  }
  if (first)
    return bad("an empty request head");
  if (facts.length && facts.chunked)
    return bad("both Content-Length and Transfer-Encoding");
  if (facts.chunked && request.http_1_0)
    return bad("Transfer-Encoding in an HTTP/1.0 request");
  if (request.form == http_request::form_type::connect) {
    if (facts.chunked || facts.length.value_or(0) != 0)
      return bad("a body in a CONNECT request");
  } else if (facts.websocket) {
    return http_problem{501, "an upgrade to WebSocket in an http:// request; a WebSocket client "
                             "reaches the host through CONNECT"};
  }
  if (!facts.host && !request.http_1_0)
    return bad("no Host field");
  if (facts.host && !host_agrees(*facts.host, request))
    return bad("a Host field that names another host than the request target");

  request.keep_alive = !facts.close && (!request.http_1_0 || facts.keep_alive);
  request.body = facts.chunked  ? http_request::body_type::chunked
                 : facts.length ? http_request::body_type::length
                                : http_request::body_type::none;
  request.length = facts.length.value_or(0);
  for (const auto& [name, value] : fields) {
    const auto field = name; // structured bindings cannot be captured in C++17
    if (same(field, "expect")) {
      if (!same(value, "100-continue"))
        return http_problem{417, "an Expect field other than 100-continue"};
      request.expects_continue = true;
    }
    if (is_hop_by_hop(field) || same(field, "host") || same(field, "content-length") ||
        std::any_of(facts.named_by_connection.begin(), facts.named_by_connection.end(),
                    [&](const auto& n) { return same(n, field); }))
      continue;
    request.end_to_end.emplace_back(field, value);
  }
  return std::nullopt;
}

std::string http_request::forward_head(const destination& to) const {
  std::string out = method + ' ' + path + " HTTP/1.1\r\nHost: " + to.host;
  if (to.port != 80)
    out += ':' + std::to_string(to.port);
  out += "\r\n";
  for (const auto& [name, value] : end_to_end)
    out += name + ": " + value + "\r\n";
  if (body == body_type::length)
    out += "Content-Length: " + std::to_string(length) + "\r\n";
  else if (body == body_type::chunked)
    out += "Transfer-Encoding: chunked\r\n";
  return out + "Connection: close\r\n\r\n";
}

} // namespace piorch::sandbox::network
