// What the tests of piorch-pi have in common. With pi-subagents and a real Pi it is tested
// beside the Pi package.
#pragma once

#include "tests/support/worker_rig.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace piorch::test {

class piorch_pi_fixture : public testing::Test {
protected:
  // One line on stderr, status 1, nothing on stdout, nothing started, nothing left.
  void refuses(program what, const std::string& why) {
    const auto done = run(std::move(what));
    EXPECT_EQ(done.status, 1);
    EXPECT_EQ(done.out, "");
    EXPECT_THAT(done.err, testing::HasSubstr(why));
    EXPECT_EQ(std::count(done.err.begin(), done.err.end(), '\n'), 1) << done.err;
    EXPECT_THAT(litter(), testing::IsEmpty());
  }
  std::vector<std::string> litter() const {
    std::vector<std::string> out;
    for (const auto& e : std::filesystem::directory_iterator(rig.w.host_temp()))
      if (const auto name = e.path().filename().string(); name.find("pi-sandbox-") == 0)
        out.push_back(name);
    return out;
  }

  worker_rig rig;
};

} // namespace piorch::test
