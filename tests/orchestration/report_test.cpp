#include "orchestration/report.hpp"

#include "orchestration/providers.hpp"

#include <gtest/gtest.h>

using namespace piorch::orchestration;
using std::chrono::hours;
using std::chrono::milliseconds;
using std::chrono::seconds;

namespace {

constexpr instant now{milliseconds{1'795'984'418'711}};

session_document made(const std::string& begin, session_state s, const std::string& task) {
  session_document d;
  d.id = begin + std::string(32 - begin.size(), '0');
  d.state = s;
  d.task = task;
  d.created_at = now - seconds(90);
  return d;
}

} // namespace

TEST(Report, Table) {
  auto a = made("00000001aaaa", session_state::running, "first\ntask \x1b[31mred");
  a.name = "review";
  a.usage.input_tokens = 12345;
  a.usage.output_tokens = 7;
  auto b = made("00000001aaab", session_state::failed, "b");
  b.error = "lost";
  b.ended_at = now - seconds(30);
  b.parent_id = a.id;
  EXPECT_EQ(status_table({b, a}, now, {}),
            "SESSION       NAME    STATE    AGE   TOKENS   PARENT        TASK\n"
            "00000001aaaa  review  running  90 s  12.3k/7  -             first task ^[[31mred\n"
            "00000001aaab  -       failed   60 s  0/0      00000001aaaa  lost\n");
  EXPECT_EQ(status_table({}, now, {}), "no sessions\n");
  EXPECT_NE(status_table({a}, now, {100, true}).find("\033[32mrunning\033[0m"), std::string::npos);
}

TEST(Report, RowsFitTheTerminal) {
  auto a = made("00000001", session_state::running, std::string(1000, 'x'));
  const auto t = status_table({a}, now, {80, false});
  for (std::size_t at = 0; at < t.size();) {
    const auto end = t.find('\n', at);
    std::size_t chars = 0;
    for (auto i = at; i < end; ++i)
      chars += (static_cast<unsigned char>(t[i]) & 0xc0) != 0x80;
    EXPECT_LE(chars, 80u);
    at = end + 1;
  }
}

TEST(Report, BidirectionalControlsAreShownAndOrdinaryTextIsNot) {
  for (const char* control : {"\u061c", "\u200e", "\u200f", "\u202a", "\u202b", "\u202c", "\u202d",
                              "\u202e", "\u2066", "\u2067", "\u2068", "\u2069"})
    EXPECT_EQ(printable(std::string("a") + control + "b"), "a\ufffdb");
  // Right-to-left letters, and the joiner in the middle of one picture.
  for (const char* text : {"שלום", "مرحبا", "\U0001f469\u200d\U0001f4bb", "\u2029"})
    EXPECT_EQ(printable(text), text);
  EXPECT_EQ(printable("\xe2\x80"), "\xe2\x80") << "cut";
  auto d = made("00000001", session_state::failed, "rm \u202egnp.x");
  EXPECT_EQ(status_table({d}, now, {}).find("\u202e"), std::string::npos);
}

TEST(Report, NothingReachesTheTerminalRaw) {
  EXPECT_EQ(printable("a\x1b]0;x\x07\r\n\tb\x7f\xc2\x9b"), "a^[]0;x^G^M\n\tb^?\xef\xbf\xbd");
  EXPECT_EQ(printable("käse €"), "käse €");
  auto d = made("00000001", session_state::failed, "\x1b[2J");
  d.error = "\x1b[2Jx";
  EXPECT_EQ(status_details(d, now).find('\x1b'), std::string::npos);
}

TEST(Report, OneLine) {
  EXPECT_EQ(one_line("abc", 3), "abc");
  EXPECT_EQ(one_line("abcd", 3), "ab…");
  EXPECT_EQ(one_line("€€€€", 3), "€€…");
  EXPECT_EQ(one_line("a\nb", 10), "a b");
  EXPECT_EQ(one_line(std::string(10'000'000, 'x'), 4), "xxx…");
}

TEST(Report, Ages) {
  EXPECT_EQ(age_text(milliseconds{-5}), "0 s");
  EXPECT_EQ(age_text(seconds{99}), "99 s");
  EXPECT_EQ(age_text(seconds{100}), "1 min");
  EXPECT_EQ(age_text(hours{5}), "5 h");
  EXPECT_EQ(age_text(hours{50}), "2 d");
  EXPECT_EQ(count_text(999), "999");
  EXPECT_EQ(count_text(4'100'000), "4.1M");
}

TEST(Providers, Endpoints) {
  const auto check = [](const char* url, const char* host, int port) {
    const auto e = endpoint_of(url);
    EXPECT_EQ(e.host, host) << url;
    if (!e.host.empty()) {
      EXPECT_EQ(e.port, port) << url;
    }
  };
  check("http://127.0.0.1:18080/v1", "127.0.0.1", 18080);
  check("https://API.Example.org/v1", "api.example.org", 443);
  check("http://example.org", "example.org", 80);
  check("http://u:p@example.org:81?x", "example.org", 81);
  check("https://[::1]:8443/", "::1", 8443);
  check("https://[::1/", "", 0);
  check("ftp://example.org", "", 0);
  check("example.org", "", 0);
  check("http://example.org:99999", "", 0);
  check("http://example.org:0", "", 0);
}

TEST(Providers, FromModelsJson) {
  const auto p = providers_of(
      R"({"providers":{"fake":{"baseUrl":"http://127.0.0.1:18080/v1"},"x":{},"y":7,"z":{"baseUrl":"nonsense"}}})");
  ASSERT_EQ(p.size(), 1u);
  EXPECT_EQ(p[0].provider, "fake");
  EXPECT_TRUE(p[0].is_loopback());
  for (auto bad : {"", "null", "[]", "{\"providers\":[1]}", "{"})
    EXPECT_TRUE(providers_of(bad).empty());
}

TEST(Providers, Explanations) {
  const std::vector<provider_endpoint> all{{"far", "api.example.org", 8443},
                                           {"near", "localhost", 9}};
  EXPECT_EQ(explain_model_error("401: bad key", "far/m", all), "401: bad key");
  auto e = explain_model_error("Connection error.: getaddrinfo ENOTFOUND", "far/m", all);
  EXPECT_NE(e.find("far at api.example.org:8443"), std::string::npos);
  EXPECT_NE(e.find("\"allowedDomains\": [\"api.example.org:8443\"]"), std::string::npos);
  e = explain_model_error("Connection error.", "near/m", all);
  EXPECT_NE(e.find("\"allowedLocalPorts\": [9]"), std::string::npos);
  e = explain_model_error("Connection error.", "builtin/m", all);
  EXPECT_NE(e.find("provider builtin"), std::string::npos);
  const auto denied = denied_endpoint(
      R"({"host":"api.vendor.example.org","port":443,"decision":"deny","source":"noApprover"})");
  e = explain_model_error("Connection error.", "builtin/m", all, denied);
  EXPECT_NE(e.find("provider builtin at api.vendor.example.org:443"), std::string::npos) << e;
  EXPECT_NE(e.find("\"allowedDomains\": [\"api.vendor.example.org:443\"]"), std::string::npos);
  e = explain_model_error("Connection error.", "near/m", all, denied);
  EXPECT_NE(e.find("\"allowedLocalPorts\": [9]"), std::string::npos) << e;
  e = explain_model_error("Connection error.", "lan/m", {{"lan", "intranet", 80}});
  EXPECT_NE(e.find("\"intranet:80\" is a single label"), std::string::npos) << e;
  EXPECT_EQ(e.find("allowedDomains"), std::string::npos) << "an entry that is an error: " << e;
}

TEST(Providers, WhatWasDenied) {
  for (auto no : {"", "{}", R"({"host":"a.example.org","port":443,"decision":"allow"})",
                  R"({"host":"a.example.org","port":0,"decision":"deny"})"})
    EXPECT_EQ(denied_endpoint(no).host, "") << no;
}
