// fuzz: ipc
// Any line is a frame within its bounds or refused with a reason, a frame survives being
// written again, and no reply allows more than it says.
#include "ipc/worker_link.hpp"
#include "tests/fuzz/require.hpp"

#include <cstdint>

using namespace piorch;
using kind = ipc::worker_frame::kind;

namespace {

void check_frame(std::string_view line) {
  const auto frame = ipc::read_worker_frame(line);
  if (!frame) {
    PIORCH_REQUIRE(!frame.failed().text.empty());
    return;
  }
  PIORCH_REQUIRE(!frame->id.empty() && frame->id.size() <= 128);
  PIORCH_REQUIRE(frame->cwd.front() == '/' && frame->cwd.size() <= 4096);
  PIORCH_REQUIRE(frame->what != kind::network || (frame->port != 0 && !frame->host.empty()));
  const std::string written = ipc::write(*frame);
  PIORCH_REQUIRE(written.find('\n') == std::string::npos);
  if (written.size() > ipc::worker_frame_bytes)
    return; // \u escapes
  const auto again = ipc::read_worker_frame(written);
  PIORCH_REQUIRE(again && again->what == frame->what && again->id == frame->id);
  PIORCH_REQUIRE(again->worker_id == frame->worker_id && again->cwd == frame->cwd);
  PIORCH_REQUIRE(again->lease == frame->lease && again->parent == frame->parent);
  PIORCH_REQUIRE(again->host == frame->host && again->port == frame->port);
  PIORCH_REQUIRE(again->exit_code == frame->exit_code && again->signal == frame->signal);
}

void check_reply(std::string_view line) {
  const auto reply = ipc::read_worker_reply(line);
  if (!reply)
    return;
  const auto& policy = reply->policy;
  if (!policy.understood) {
    PIORCH_REQUIRE(policy.allowed.empty() && policy.denied.size() == 1);
    PIORCH_REQUIRE(policy.denied[0].matches("anything.example.org", 443));
    return;
  }
  for (const auto& pattern : policy.allowed)
    PIORCH_REQUIRE(pattern.kind != config::domain_pattern::kind_type::any);
  const auto again =
      ipc::read_worker_reply(ipc::write_register_reply("x", policy, reply->heartbeat));
  PIORCH_REQUIRE(again && again->allow && again->policy.understood);
  PIORCH_REQUIRE(again->policy.allowed == policy.allowed && again->policy.denied == policy.denied);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view line(reinterpret_cast<const char*>(bytes), size);
  check_frame(line);
  check_reply(line);
  return 0;
}
