// fuzz: sandbox
// A question of a broker, its withdrawal and the answer. What is accepted is written as
// it was understood; what is refused says why in one line that a terminal can bear.
#include "sandbox/remote_question.hpp"
#include "tests/fuzz/require.hpp"

#include <algorithm>
#include <cstdint>

using namespace piorch;

namespace {

bool is_plain(const std::string& text) {
  return !text.empty() && std::none_of(text.begin(), text.end(), [](char c) {
    return (c >= '\0' && c < ' ') || c == '\x7f';
  });
}

template <class Read, class Write>
void there_and_back(std::string_view text, Read read, Write write) {
  const auto got = read(text);
  if (!got) {
    PIORCH_REQUIRE(is_plain(got.failed().text));
    return;
  }
  const auto written = write(*got);
  const auto again = read(written);
  PIORCH_REQUIRE(again && write(*again) == written);
}

} // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* bytes, std::size_t size) {
  const std::string_view text(reinterpret_cast<const char*>(bytes), size);
  there_and_back(text, sandbox::read_question, sandbox::question_text);
  there_and_back(text, sandbox::read_withdrawal, sandbox::withdrawal_text);
  there_and_back(text, sandbox::read_answer, sandbox::answer_text);
  if (const auto answer = sandbox::read_answer(text))
    PIORCH_REQUIRE(!answer->id.empty());
  return 0;
}
