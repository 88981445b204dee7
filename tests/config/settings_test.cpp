#include "config/settings.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace piorch::config {
namespace {

using testing::ElementsAre;
using testing::HasSubstr;
using testing::Not;
using testing::StartsWith;

std::vector<std::string> texts(const std::vector<domain_pattern>& patterns) {
  std::vector<std::string> out;
  for (const auto& p : patterns)
    out.push_back(p.text());
  return out;
}

TEST(ConfigSettings, EmptyObjectMeansTheDefaultsOfTheContract) {
  const auto s = parse_settings("{}", "f");
  ASSERT_TRUE(s) << s.failed().text;
  EXPECT_EQ(s->subagents.provider, subagents_provider::builtin);
  EXPECT_EQ(s->subagents.external_worker_isolation, worker_isolation::off);
  EXPECT_TRUE(s->filesystem.additional_allow_read.empty());
  EXPECT_TRUE(s->network.allowed_domains.empty());
  EXPECT_TRUE(s->network.denied_domains.empty());
  EXPECT_TRUE(s->network.allowed_local_ports.empty());
  EXPECT_EQ(s->host_ipc.mode, host_ipc_mode::off);
  EXPECT_TRUE(s->host_ipc.preflight_command_prefixes.empty());
  EXPECT_FALSE(s->host_ipc.retry_on_unix_socket_error);
  EXPECT_EQ(s->approvals.timeout, std::chrono::seconds(300));
  EXPECT_GT(s->limits.processes, 0u);
  EXPECT_GT(s->limits.memory_mib, 0u);
  EXPECT_EQ(s->sessions.keep, std::chrono::hours(30 * 24));
  EXPECT_EQ(s->sessions.keep_count, 200u);
}

TEST(ConfigSettings, ReadsEveryKey) {
  const auto s = parse_settings(R"({
    "subagents": {"provider": "pi-subagents", "externalWorkerIsolation": "enforce"},
    "filesystem": {"additionalAllowRead": ["/srv/data", "/opt/x y", "/srv/data"]},
    "network": {"allowedDomains": [" Example.ORG. ", "*.example.org:443", "example.org"],
                "deniedDomains": ["*:25", "*:25", "bad.example.org"],
                "allowedLocalPorts": [5432, 1, 65535, 5432]},
    "hostIPC": {"mode": "ask", "preflightCommandPrefixes": [" docker ", "docker", "gh auth"],
                "retryOnUnixSocketError": true},
    "approvals": {"timeoutSeconds": 3600},
    "limits": {"processes": 100, "memoryMiB": 2048},
    "sessions": {"keepDays": 7, "keepCount": 10}
  })",
                                "f");
  ASSERT_TRUE(s) << s.failed().text;
  EXPECT_EQ(s->subagents.provider, subagents_provider::pi_subagents);
  EXPECT_EQ(s->subagents.external_worker_isolation, worker_isolation::enforce);
  EXPECT_THAT(s->filesystem.additional_allow_read, ElementsAre("/srv/data", "/opt/x y"));
  EXPECT_THAT(texts(s->network.allowed_domains), ElementsAre("example.org", "*.example.org:443"));
  EXPECT_THAT(texts(s->network.denied_domains), ElementsAre("*:25", "bad.example.org"));
  EXPECT_THAT(s->network.allowed_local_ports, ElementsAre(5432, 1, 65535));
  EXPECT_EQ(s->host_ipc.mode, host_ipc_mode::ask);
  EXPECT_THAT(s->host_ipc.preflight_command_prefixes, ElementsAre("docker", "gh auth"));
  EXPECT_TRUE(s->host_ipc.retry_on_unix_socket_error);
  EXPECT_EQ(s->approvals.timeout, std::chrono::seconds(3600));
  EXPECT_EQ(s->limits.processes, 100u);
  EXPECT_EQ(s->limits.memory_mib, 2048u);
  EXPECT_EQ(s->sessions.keep, std::chrono::hours(7 * 24));
  EXPECT_EQ(s->sessions.keep_count, 10u);

  const auto again = parse_settings(settings_json(*s), "f");
  ASSERT_TRUE(again) << again.failed().text;
  EXPECT_EQ(settings_json(*again), settings_json(*s));
}

struct bad_file {
  const char* text;
  const char* key;      // what the line must name
  const char* accepted; // and what it must offer
};

TEST(ConfigSettings, NamesTheKeyAndWhatIsAccepted) {
  const bad_file cases[] = {
      {R"({"subagents": {"provider": "claude"}})", "subagents.provider", "\"pi-subagents\""},
      {R"({"subagents": {"provider": "Builtin"}})", "subagents.provider", "\"builtin\""},
      {R"({"subagents": {"provider": null}})", "subagents.provider", "not null"},
      {R"({"subagents": {"externalWorkerIsolation": true}})", "subagents.externalWorkerIsolation",
       "\"enforce\", not a boolean"},
      {R"({"subagents": []})", "subagents", "an object, not an array"},
      {R"({"network": null})", "network", "an object, not null"},
      {R"({"filesystem": {"additionalAllowRead": "/srv"}})", "filesystem.additionalAllowRead",
       "an array of absolute paths, not a string"},
      {R"({"filesystem": {"additionalAllowRead": ["/a", "srv"]}})",
       "filesystem.additionalAllowRead[1]", "an absolute path"},
      {R"({"filesystem": {"additionalAllowRead": ["~/x"]}})", "filesystem.additionalAllowRead[0]",
       "\"~\" is not expanded"},
      {R"({"filesystem": {"additionalAllowRead": [""]}})", "filesystem.additionalAllowRead[0]",
       "an absolute path"},
      {R"({"filesystem": {"additionalAllowRead": ["/a\u0000b"]}})",
       "filesystem.additionalAllowRead[0]", "NUL"},
      {R"({"filesystem": {"additionalAllowRead": [1]}})", "filesystem.additionalAllowRead[0]",
       "an absolute path, not a number"},
      {R"({"network": {"allowedDomains": ["ok.example.org", "*"]}})", "network.allowedDomains[1]",
       "network.deniedDomains only"},
      {R"({"network": {"allowedDomains": ["example.org\u0000"]}})", "network.allowedDomains[0]",
       "accepted"},
      {R"({"network": {"allowedDomains": {}}})", "network.allowedDomains", "an array"},
      {R"({"network": {"deniedDomains": [7]}})", "network.deniedDomains[0]", "a domain pattern"},
      {R"({"network": {"allowedLocalPorts": [0]}})", "network.allowedLocalPorts[0]",
       "from 1 to 65535, not 0"},
      {R"({"network": {"allowedLocalPorts": [65536]}})", "network.allowedLocalPorts[0]", "65535"},
      {R"({"network": {"allowedLocalPorts": [-1]}})", "network.allowedLocalPorts[0]", "not -1"},
      {R"({"network": {"allowedLocalPorts": ["80"]}})", "network.allowedLocalPorts[0]",
       "not a string"},
      {R"({"network": {"allowedLocalPorts": [80.0]}})", "network.allowedLocalPorts[0]",
       "a whole number"},
      {R"({"network": {"allowedLocalPorts": [41080]}})", "network.allowedLocalPorts[0]: 41080",
       "the port of a sandbox's own proxy"},
      {R"({"network": {"allowedLocalPorts": [41081]}})", "network.allowedLocalPorts[0]: 41081",
       "the port of a sandbox's own proxy"},
      {R"({"network": {"allowedDomains": ["ok.example.org", "intranet"]}})",
       "network.allowedDomains[1]: \"intranet\"", "with its domain"},
      {R"({"hostIPC": {"mode": "on"}})", "hostIPC.mode", "\"off\", \"ask\""},
      {R"({"hostIPC": {"preflightCommandPrefixes": ["  "]}})",
       "hostIPC.preflightCommandPrefixes[0]", "empty"},
      {R"({"hostIPC": {"preflightCommandPrefixes": ["a\nb"]}})",
       "hostIPC.preflightCommandPrefixes[0]", "control character"},
      {R"({"hostIPC": {"retryOnUnixSocketError": "true"}})", "hostIPC.retryOnUnixSocketError",
       "true or false, not a string"},
      {R"({"hostIPC": {"retryOnUnixSocketError": 1}})", "hostIPC.retryOnUnixSocketError",
       "true or false"},
      {R"({"approvals": {"timeoutSeconds": 0}})", "approvals.timeoutSeconds", "from 1 to 3600"},
      {R"({"approvals": {"timeoutSeconds": 3601}})", "approvals.timeoutSeconds", "from 1 to 3600"},
      {R"({"approvals": {"timeoutSeconds": 1e2}})", "approvals.timeoutSeconds", "a whole number"},
      {R"({"approvals": {"timeoutSeconds": 99999999999999999999999}})", "approvals.timeoutSeconds",
       "a whole number from 1 to 3600, not a number with a fraction or an exponent, or of more "
       "than 19 digits"},
      {R"({"limits": {"processes": 0}})", "limits.processes", "from 1"},
      {R"({"limits": {"processes": 4194305}})", "limits.processes", "4194304"},
      {R"({"limits": {"memoryMiB": -5}})", "limits.memoryMiB", "from 1"},
      {R"({"limits": {"memoryMiB": 18446744073709551615}})", "limits.memoryMiB", "from 1"},
      {R"({"limits": {"memoryMiB": true}})", "limits.memoryMiB", "not a boolean"},
      {R"({"sessions": {"keepDays": 0}})", "sessions.keepDays", "from 1"},
      {R"({"sessions": {"keepCount": "all"}})", "sessions.keepCount", "not a string"},
      // unknown keys
      {R"({"network": {"allowedDomians": []}})", "network.allowedDomians",
       "did you mean network.allowedDomains?"},
      {R"({"network": {"alloweddomains": []}})", "network.alloweddomains",
       "did you mean network.allowedDomains?"},
      {R"({"allowedDomains": []})", "allowedDomains", "did you mean network.allowedDomains?"},
      {R"({"filesystem": {"deniedDomains": []}})", "filesystem.deniedDomains",
       "did you mean network.deniedDomains?"},
      {R"({"netwrok": {}})", "netwrok", "did you mean network?"},
      {R"({"network.allowedDomains": []})", "network.allowedDomains", "unknown key"},
      {R"({"enabled": false})", "enabled", "known here: subagents, filesystem, network"},
      {R"({"network": {"xyzzyplugh": 1}})", "network.xyzzyplugh",
       "known here: allowedDomains, deniedDomains, allowedLocalPorts"},
      {R"({"": 1})", "", "unknown key"},
      {R"({"a\u001b[31mb\n": 1})", "a\\x1b[31mb\\x0a", "unknown key"},
      // the same key twice, on any level
      {R"({"network": {}, "network": {}})", "\"network\"", "twice"},
      {R"({"limits": {"processes": 1, "processes": 2}})", "\"processes\"", "twice"},
      // not JSON, or not this JSON
      {"", "line 1, column 1", "malformed JSON"},
      {"{", "line 1, column", "malformed JSON"},
      {"{\n  \"network\": {,}\n}", "line 2, column 15", "malformed JSON"},
      {"{} {}", "line 1, column 4", "malformed JSON"},
      {"// c\n{}", "line 1, column", "malformed JSON"},
      {"{/* c */}", "line 1, column", "malformed JSON"},
      {"{\"limits\": {\"processes\": 1,}}", "line 1", "malformed JSON"},
      {"{'limits': {}}", "line 1", "malformed JSON"},
      {"{\"limits\": {\"processes\": 01}}", "line 1", "malformed JSON"},
      {"{\"limits\": {\"processes\": NaN}}", "line 1", "malformed JSON"},
      {"{\"limits\": {\"processes\": 1e999}}", "line 1", "malformed JSON"},
      {"\xef\xbb\xbf{}", "line 1, column 1", "byte order mark"},
      {"{\"a\xff\": 1}", "line 1", "malformed JSON"},
      {"[]", "document", "an object, not an array"},
      {"null", "document", "an object, not null"},
      {"\"x\"", "document", "an object, not a string"},
      {R"({"a":[[[[[[[[1]]]]]]]]})", "8 levels", "nested"},
  };
  for (const auto& c : cases) {
    const auto s = parse_settings(c.text, "/home/u/config.json");
    ASSERT_FALSE(s) << c.text;
    const auto& e = s.failed();
    EXPECT_EQ(e.code, failure::configuration_invalid);
    EXPECT_THAT(e.text, StartsWith("/home/u/config.json: ")) << c.text;
    EXPECT_THAT(e.text, HasSubstr(c.key)) << c.text;
    EXPECT_THAT(e.text, HasSubstr(c.accepted)) << c.text;
    EXPECT_THAT(e.text, Not(HasSubstr("\n"))) << c.text;
    EXPECT_THAT(e.text, Not(HasSubstr("\x1b"))) << c.text;
  }
}

TEST(ConfigSettings, BoundsSizeAndDepth) {
  const std::string large(piorch::limits::settings_file_bytes, ' ');
  EXPECT_TRUE(parse_settings(large.substr(2) + "{}", "f"));
  const auto too_large = parse_settings(large + "{}", "f");
  ASSERT_FALSE(too_large);
  EXPECT_THAT(too_large.failed().text, HasSubstr("larger than"));
  const auto deep = parse_settings(std::string(500000, '['), "f");
  ASSERT_FALSE(deep);
  EXPECT_THAT(deep.failed().text, HasSubstr("nested deeper"));
  const auto wordy = parse_settings("{\"" + std::string(500000, 'k') + "\": 1}", "f");
  ASSERT_FALSE(wordy);
  EXPECT_LT(wordy.failed().text.size(), 500u);
}

} // namespace
} // namespace piorch::config
