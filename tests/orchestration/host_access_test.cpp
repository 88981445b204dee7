#include "orchestration/host_access.hpp"

#include <gtest/gtest.h>

using namespace piorch;
using namespace piorch::orchestration;

namespace {

config::settings with_prefixes() {
  config::settings s;
  s.host_ipc.mode = config::host_ipc_mode::ask;
  s.host_ipc.preflight_command_prefixes = {"docker", "gh auth"};
  return s;
}

} // namespace

TEST(HostAccess, APrefixIsWholeWordsAtTheBeginning) {
  auto s = with_prefixes();
  EXPECT_EQ(preflight_prefix(s, "docker"), "docker");
  EXPECT_EQ(preflight_prefix(s, "  docker ps"), "docker");
  EXPECT_EQ(preflight_prefix(s, "docker\tps"), "docker");
  EXPECT_EQ(preflight_prefix(s, "gh auth status"), "gh auth");
  for (const char* other :
       {"", " ", "dockerd", "docker-compose", "gh", "gh authx", "gh  auth", "sudo docker",
        "./docker", "'docker' ps", "docker;id", "docker\nps", "A=1 docker"})
    EXPECT_FALSE(preflight_prefix(s, other)) << other;
  s.host_ipc.mode = config::host_ipc_mode::off;
  EXPECT_FALSE(preflight_prefix(s, "docker ps"));
}

TEST(HostAccess, WordsAreShownAsAShellWouldReadThem) {
  EXPECT_EQ(in_words({"docker", "run", "--rm", "a b", "", "it's", "$(x)"}),
            "docker run --rm 'a b' '' 'it'\\''s' '$(x)'");
  EXPECT_EQ(in_words({}), "");
}

TEST(HostAccess, ASocketRefusalIsRecognized) {
  const auto seen = [](std::initializer_list<std::string> parts) {
    socket_refusal r;
    for (const auto& part : parts)
      r.take(part);
    return r.seen();
  };
  EXPECT_TRUE(seen({"error connecting to /tmp/tmux-0/default (Operation not permitted)\n"}));
  EXPECT_TRUE(seen({"Error conn", "ecting to agent: Operation not perm", "itted\n"}));
  EXPECT_TRUE(seen({"dial unix /run/docker.sock: socket: operation not permitted"}));
  EXPECT_FALSE(seen({"mkdir: cannot create directory: Operation not permitted"}));
  EXPECT_FALSE(seen({"connect: Connection refused"}));
  EXPECT_FALSE(seen({""}));
  // The last words count, however much came before, and in however many pieces.
  EXPECT_TRUE(seen({std::string(1 << 20, 'x'), "socket: Operation not permitted"}));
  EXPECT_TRUE(seen({std::string(1 << 20, 'x') + "socket: Operation not permitted"}));
  socket_refusal r;
  r.take("socket: Operation not permitted\n");
  for (int i = 0; i < 200; ++i)
    r.take(std::string(1000, 'y'));
  EXPECT_FALSE(r.seen());
}
