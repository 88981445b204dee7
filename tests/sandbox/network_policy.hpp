// What the tests of the network's policy have in common.
#pragma once

#include "tests/sandbox/network_example.hpp"

namespace piorch::test {

class SandboxNetworkPolicy : public network_world {
protected:
  static void echo(peer& p) {
    for (;;) {
      auto s = p.some();
      if (s.empty() || !p.send(s))
        return;
    }
  }
  // Answers every question with what `say` returns, on the loop.
  void answer_with(std::function<net::ask_answer(const net::ask_request&)> say) {
    events.ask = [this, say](const net::ask_request& r,
                             std::function<void(net::ask_answer)> reply) {
      asked.push_back(net::to_text(r.to) + ' ' + r.protocol);
      reply(say(r));
    };
  }
  std::vector<std::string> asked; // on the loop, or after its events are over
};

} // namespace piorch::test
