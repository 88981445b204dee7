// fuzz: sandbox
// The bytes of a proxy connection. What is accepted must be passed on as a head
// that a strict reader takes for the same single request.
#include "sandbox/network/http_head.hpp"
#include "tests/fuzz/require.hpp"

#include <cstdint>

using namespace piorch::sandbox::network;

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  const auto scan = find_head_end(text);
  if (scan.problem || scan.end == 0)
    return 0;
  PIORCH_REQUIRE(scan.end <= size);
  const auto prefix = find_head_end(text.substr(0, scan.end));
  PIORCH_REQUIRE(!prefix.problem && prefix.end == scan.end);
  http_request request;
  if (parse_request(text.substr(0, scan.end), request) ||
      request.form != http_request::form_type::absolute)
    return 0;

  const auto head = request.forward_head({"www.example.org", 8080});
  const auto out = find_head_end(head);
  PIORCH_REQUIRE(!out.problem && out.end == head.size());
  // As a proxy request it must say what the first one said.
  http_request again;
  const auto target = head.find(' ') + 1;
  auto absolute = head;
  absolute.insert(target, "http://www.example.org:8080");
  if (request.path.front() != '/')
    return 0;
  PIORCH_REQUIRE(!parse_request(absolute, again));
  PIORCH_REQUIRE(again.method == request.method && again.path == request.path);
  PIORCH_REQUIRE(again.body == request.body && again.length == request.length);
  PIORCH_REQUIRE(again.end_to_end == request.end_to_end && !again.keep_alive);
  for (const auto& [name, value] : again.end_to_end)
    PIORCH_REQUIRE(!is_hop_by_hop(name) && value.find_first_of("\r\n") == std::string::npos);
  return 0;
}
