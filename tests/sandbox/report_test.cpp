#include "sandbox/report.hpp"

#include <gtest/gtest.h>
#include <nlohmann/json.hpp>

namespace piorch::sandbox {
namespace {

using nlohmann::json;

TEST(SandboxReport, EveryKeyOfTheContractOnOneLine) {
  exec_report r;
  r.how.exit_code = 143;
  r.how.signal = 15;
  r.how.cpu_seconds = 0.25;
  r.how.peak_rss_bytes = std::uint64_t{5} << 30;
  r.setup = std::chrono::microseconds(1500);
  r.duration = std::chrono::microseconds(2500000);
  r.network.push_back({"www.example.org", 443, "deny", "policy"});
  r.refused_paths.push_back({".env", "secret"});
  const std::string text = report_json(r);
  EXPECT_EQ(text.find('\n'), text.size() - 1);
  const json j = json::parse(text);
  EXPECT_EQ(j["exitCode"], 143);
  EXPECT_EQ(j["signal"], 15);
  EXPECT_EQ(j["timedOut"], false);
  EXPECT_EQ(j["setupMs"], 1.5);
  EXPECT_EQ(j["durationMs"], 2500.0);
  EXPECT_EQ(j["cpuSeconds"], 0.25);
  EXPECT_EQ(j["peakRssBytes"], std::uint64_t{5} << 30);
  EXPECT_EQ(j["network"][0]["host"], "www.example.org");
  EXPECT_EQ(j["network"][0]["port"], 443);
  EXPECT_EQ(j["network"][0]["decision"], "deny");
  EXPECT_EQ(j["network"][0]["source"], "policy");
  EXPECT_EQ(j["refusedPaths"][0]["path"], ".env");
  EXPECT_FALSE(j.contains("error"));
  EXPECT_FALSE(j.contains("ranOnHost"));
  r.ran_on_host = true;
  EXPECT_EQ(json::parse(report_json(r))["ranOnHost"], true);
}

TEST(SandboxReport, NothingInItDrivesATerminal) {
  exec_report r;
  r.refused_paths.push_back({"a\x7f\xc2\x9b\x1b/.env", "secret"});
  const std::string text = report_json(r);
  for (const char c : text)
    EXPECT_TRUE((c >= ' ' && c < '\x7f') || c == '\n') << static_cast<int>(c);
  EXPECT_EQ(json::parse(text)["refusedPaths"][0]["path"], "a\x7f\xc2\x9b\x1b/.env");
}

TEST(SandboxReport, BytesThatAreNoTextDoNotBreakIt) {
  exec_report r;
  r.how.problem = "cannot run \xff\xfe";
  r.refused_paths.push_back({"\x80/.env\n", "secret"});
  const json j = json::parse(report_json(r));
  EXPECT_TRUE(j["signal"].is_null());
  EXPECT_NE(j["error"].get<std::string>().find("cannot run"), std::string::npos);
}

} // namespace
} // namespace piorch::sandbox
