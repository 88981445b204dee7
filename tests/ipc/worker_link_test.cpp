#include "ipc/worker_link.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace piorch::ipc {
namespace {

using nlohmann::json;

const std::string capability(64, 'c');

json frame(const char* type) {
  return {{"version", 1}, {"capability", capability}, {"id", "1"},
          {"type", type}, {"workerId", "w"},          {"cwd", "/project"}};
}

TEST(IpcWorkerLink, ReadsTheThreeFramesOfVersionOne) {
  const auto registered = read_worker_frame(frame("register").dump());
  ASSERT_TRUE(registered);
  EXPECT_EQ(registered->what, worker_frame::kind::register_worker);
  EXPECT_EQ(registered->capability, capability);
  EXPECT_FALSE(registered->lease);

  auto asks = frame("network");
  asks["hostname"] = "example.org";
  asks["port"] = 443;
  const auto network = read_worker_frame(asks.dump());
  ASSERT_TRUE(network);
  EXPECT_EQ(network->host, "example.org");
  EXPECT_EQ(network->port, 443);

  EXPECT_TRUE(read_worker_frame(frame("unregister").dump()));
}

TEST(IpcWorkerLink, RefusesWhatIsNoFrame) {
  const auto refuses = [](json j) { return !read_worker_frame(j.dump()); };
  EXPECT_TRUE(refuses("a string"));
  EXPECT_TRUE(refuses(nullptr));
  EXPECT_FALSE(read_worker_frame("{\"version\":1"));
  for (const char* field : {"version", "capability", "id", "type", "workerId", "cwd"}) {
    auto j = frame("register");
    j.erase(field);
    EXPECT_TRUE(refuses(j)) << field;
    j[field] = nullptr;
    EXPECT_TRUE(refuses(j)) << field;
    j[field] = json::array();
    EXPECT_TRUE(refuses(j)) << field;
  }
  const auto with = [](const char* type, const char* field, json value) {
    auto j = frame(type);
    j["hostname"] = "example.org";
    j["port"] = 1;
    j[field] = std::move(value);
    return j;
  };
  EXPECT_TRUE(refuses(with("register", "version", 2)));
  EXPECT_TRUE(refuses(with("register", "version", true)));
  EXPECT_TRUE(refuses(with("register", "id", std::string(129, 'x'))));
  EXPECT_TRUE(refuses(with("register", "id", "")));
  EXPECT_TRUE(refuses(with("register", "cwd", "relative")));
  EXPECT_TRUE(refuses(with("register", "cwd", "/" + std::string(4096, 'x'))));
  EXPECT_TRUE(refuses(with("register", "cwd", std::string("/a\0b", 4))));
  EXPECT_TRUE(refuses(with("shutdown", "id", "1")));
  EXPECT_TRUE(refuses(with("network", "hostname", "")));
  EXPECT_TRUE(refuses(with("network", "hostname", std::string(254, 'a'))));
  for (const json& port : {json(0), json(65536), json(-1), json("443"), json(1.5)})
    EXPECT_TRUE(refuses(with("network", "port", port))) << port;
  EXPECT_TRUE(refuses(with("register", "more", std::string(worker_frame_bytes, 'x'))));
}

TEST(IpcWorkerLink, FieldsOfTomorrowArePassedOver) {
  auto j = frame("register");
  j["lease"] = true;
  j["tomorrow"] = 1;
  const auto read = read_worker_frame(j.dump());
  ASSERT_TRUE(read);
  EXPECT_TRUE(read->lease);
}

TEST(IpcWorkerLink, WritesWhatItReads) {
  worker_frame f;
  f.what = worker_frame::kind::unregister;
  f.capability = capability;
  f.id = "7";
  f.worker_id = "w";
  f.cwd = "/p";
  f.signal = 15;
  const auto again = read_worker_frame(write(f));
  ASSERT_TRUE(again);
  EXPECT_EQ(again->signal, 15);
  EXPECT_EQ(again->exit_code, std::nullopt);
}

TEST(IpcWorkerLink, WordsForPeopleCannotDriveATerminal) {
  auto j = frame("register");
  j["agent"] = "a\x1b[2J\nb";
  const auto read = read_worker_frame(j.dump());
  ASSERT_TRUE(read);
  EXPECT_EQ(read->agent.find_first_of("\x1b\n"), std::string::npos);
}

TEST(IpcWorkerLink, ACapabilityIsTheWholeOfIt) {
  std::string other = capability;
  other.back() = 'd';
  EXPECT_TRUE(is_same_capability(capability, capability));
  EXPECT_FALSE(is_same_capability(capability, other));
  EXPECT_FALSE(is_same_capability(capability, capability.substr(1)));
  EXPECT_FALSE(is_same_capability("", ""));
}

TEST(IpcWorkerLink, APolicyTravels) {
  worker_policy p;
  p.allowed.push_back(*config::parse_pattern("*.example.org:443", config::domain_list::allowed));
  p.denied.push_back(*config::parse_pattern("*", config::domain_list::denied));
  const auto reply = read_worker_reply(write_register_reply("1", p, std::chrono::seconds(10)));
  ASSERT_TRUE(reply);
  EXPECT_TRUE(reply->allow);
  EXPECT_TRUE(reply->policy.understood);
  EXPECT_EQ(reply->policy.allowed, p.allowed);
  EXPECT_EQ(reply->policy.denied, p.denied);
}

TEST(IpcWorkerLink, AMissingOrMalformedPolicyDeniesEverything) {
  const json good{{"allowedDomains", json::array()}, {"deniedDomains", json::array()}};
  auto more = good;
  more["more"] = 1;
  for (const json& network :
       {json(), json::array(), json{{"allowedDomains", json::array()}}, more,
        json{{"allowedDomains", {"*"}}, {"deniedDomains", json::array()}},
        json{{"allowedDomains", {1}}, {"deniedDomains", json::array()}},
        json{{"allowedDomains", {"not a host"}}, {"deniedDomains", json::array()}},
        json{{"allowedDomains", "example.org"}, {"deniedDomains", json::array()}}}) {
    json line{{"id", "1"}, {"action", "allow"}};
    if (!network.is_null())
      line["network"] = network;
    const auto reply = read_worker_reply(line.dump());
    ASSERT_TRUE(reply);
    EXPECT_FALSE(reply->policy.understood) << network;
    EXPECT_TRUE(reply->policy.allowed.empty());
    EXPECT_NE(config::find_match(reply->policy.denied, "example.org", 443), nullptr);
  }
}

TEST(IpcWorkerLink, OnlyAllowAllows) {
  for (const json& action : {json("deny"), json("ALLOW"), json(true), json()}) {
    const auto reply = read_worker_reply(json{{"id", "1"}, {"action", action}}.dump());
    ASSERT_TRUE(reply);
    EXPECT_FALSE(reply->allow) << action;
  }
  EXPECT_EQ(read_worker_reply(write_heartbeat())->what, worker_reply::kind::heartbeat);
  EXPECT_FALSE(read_worker_reply("nonsense"));
  const auto no = read_worker_reply(write_answer("", false, "", "not here"));
  ASSERT_TRUE(no);
  EXPECT_TRUE(no->id.empty());
  EXPECT_EQ(no->reason, "not here");
}

} // namespace
} // namespace piorch::ipc
