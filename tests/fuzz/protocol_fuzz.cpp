// fuzz: ipc
// A line is read as a request of any method. What is accepted is written as it
// was understood; what is refused says why in one sentence.
#include "ipc/jsonrpc.hpp"
#include "ipc/protocol.hpp"
#include "tests/fuzz/require.hpp"

#include <cstdint>
#include <nlohmann/json.hpp>

using namespace piorch::ipc;

namespace {

template <class T> void read_answer(const nlohmann::json& value) {
  const auto got = read<T>(value);
  PIORCH_REQUIRE(got || !got.failed().text.empty());
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  rpc_message message;
  rpc_refusal refusal;
  if (!parse_rpc({reinterpret_cast<const char*>(bytes), size}, message, refusal))
    return 0;
  if (message.what == rpc_message::kind::response) {
    read_answer<initialize_result>(message.result);
    read_answer<command_run_result>(message.result);
    read_answer<session_answer>(message.result);
    read_answer<session_status_result>(message.result);
    read_answer<approval_decision>(message.result);
    read_answer<approval_list_result>(message.result);
    return 0;
  }
  read_answer<command_output>(message.params);
  const auto call = read_call(message.method, message.params);
  if (!call)
    return 0;
  if (!*call) {
    PIORCH_REQUIRE(call->failed().code == piorch::failure::usage && !call->failed().text.empty());
    return 0;
  }
  PIORCH_REQUIRE(message.method == method_name(**call));
  const auto params = write_params(**call);
  const auto again = read_call(message.method, params);
  PIORCH_REQUIRE(again && *again && write_params(**again) == params);
  return 0;
}
