// What tests of the proxies have in common: www.example.org is there, at 192.0.2.80.
#pragma once

#include "tests/support/network_world.hpp"

namespace piorch::test {

using namespace std::chrono_literals;

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

class network_example : public network_world {
protected:
  void SetUp() override {
    network_world::SetUp();
    if (IsSkipped() || HasFatalFailure())
      return;
    dns->set("www.example.org", {{"192.0.2.80"}}, 60);
  }
};

} // namespace piorch::test
