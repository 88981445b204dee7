// fuzz: ipc
// Any line is a message or a refusal; a message survives being written again.
#include "ipc/jsonrpc.hpp"
#include "tests/fuzz/require.hpp"

#include <cstdint>

using namespace piorch::ipc;
using kind = rpc_message::kind;

namespace {

std::string written(const rpc_message& m) {
  switch (m.what) {
    case kind::request:
      return rpc_request(m.id, m.method, m.params);
    case kind::notification:
      return rpc_notification(m.method, m.params);
    case kind::response:
      return rpc_result(m.id, m.result);
    case kind::error:
      return rpc_failure(m.id, m.failed);
  }
  return {};
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  rpc_message message, again;
  rpc_refusal refusal;
  if (!parse_rpc({reinterpret_cast<const char*>(bytes), size}, message, refusal)) {
    PIORCH_REQUIRE(!refusal.error.message.empty() && refusal.id.present());
    const std::string answer = rpc_failure(refusal.id, refusal.error);
    PIORCH_REQUIRE(answer.find('\n') == std::string::npos);
    PIORCH_REQUIRE(parse_rpc(answer, again, refusal) && again.what == kind::error);
    return 0;
  }
  const std::string line = written(message);
  PIORCH_REQUIRE(line.find('\n') == std::string::npos);
  PIORCH_REQUIRE(parse_rpc(line, again, refusal));
  PIORCH_REQUIRE(again.what == message.what && again.id == message.id);
  PIORCH_REQUIRE(again.method == message.method && again.params == message.params);
  PIORCH_REQUIRE(again.result == message.result);
  return 0;
}
