#include "config/patterns.hpp"

#include <gtest/gtest.h>

namespace piorch::config {
namespace {

TEST(ConfigPatterns, AcceptsAndNormalises) {
  const auto both = {domain_list::allowed, domain_list::denied};
  const std::pair<const char*, const char*> names[] = {
      {"example.com", "example.com"},
      {"  Example.COM.\t", "example.com"},
      {"*.example.com", "*.example.com"},
      {"*.Example.Com.:443", "*.example.com:443"},
      {"example.com:1", "example.com:1"},
      {"example.com:65535", "example.com:65535"},
      {"xn--bcher-kva.example.org", "xn--bcher-kva.example.org"},
      {"r3---sn-x.example.org", "r3---sn-x.example.org"},
      {"under_score.example.org", "under_score.example.org"},
      {"*.intranet", "*.intranet"},
      {"1password.example.org", "1password.example.org"},
      {"0xample.org", "0xample.org"},
  };
  for (const auto& [text, normal] : names)
    for (const auto list : both) {
      const auto pattern = parse_pattern(text, list);
      ASSERT_TRUE(pattern) << text << ": " << pattern.failed().text;
      EXPECT_EQ(pattern->text(), normal);
    }
}

TEST(ConfigPatterns, AcceptsWhatTheProxyNeverReachesOnlyToDenyIt) {
  const std::pair<const char*, const char*> names[] = {
      {"*", "*"},
      {"*:25", "*:25"},
      {"192.0.2.7", "192.0.2.7"},
      {"192.0.2.7:443", "192.0.2.7:443"},
      {"[2001:DB8::7]", "[2001:db8::7]"},
      {"2001:db8::7", "[2001:db8::7]"},
      {"[::1]:8080", "[::1]:8080"},
      {"localhost", "localhost"},
      {"*.localhost", "*.localhost"},
      {"intranet", "intranet"},
      {"Intranet.:8080", "intranet:8080"},
      {"db.internal", "db.internal"},
      {"*.internal:443", "*.internal:443"},
      {"printer.local", "printer.local"},
      {"x.test", "x.test"},
      {"*.example", "*.example"},
      {"router.home.arpa", "router.home.arpa"},
  };
  for (const auto& [text, normal] : names) {
    const auto denied = parse_pattern(text, domain_list::denied);
    ASSERT_TRUE(denied) << text << ": " << denied.failed().text;
    EXPECT_EQ(denied->text(), normal);
    const auto allowed = parse_pattern(text, domain_list::allowed);
    ASSERT_FALSE(allowed) << text;
    EXPECT_EQ(allowed.failed().code, failure::configuration_invalid);
  }
}

TEST(ConfigPatterns, RefusesEverythingElseInBothLists) {
  const std::string long_label = std::string(64, 'a') + ".example.org";
  std::string long_name;
  for (int i = 0; i < 64; ++i)
    long_name += "abc.";
  long_name += "org";
  const std::string bad[] = {
      "",
      " ",
      ".",
      "..",
      ".example.com",
      "example..com",
      "example.com..",
      "foo.*",
      "*foo.com",
      "a.*.b",
      "**",
      "*.*",
      "*.*.example.com",
      "*.",
      "*:",
      "*example.com",
      "*.example.*",
      "https://example.com",
      "example.com/path",
      "user@example.com",
      "exa mple.com",
      "exam\tple.com",
      "example.com:",
      "example.com:0",
      "example.com:00",
      "example.com:065",
      "example.com:65536",
      "example.com:99999999999999999999",
      "example.com:-1",
      "example.com:+1",
      "example.com:http",
      "example.com:80:80",
      "example.com: 80",
      "-example.com",
      "example-.com",
      "b\xc3\xbc"
      "cher.example",
      "\xef\xbd\x85xample.com",
      "example%2ecom",
      "127.1",
      "2130706433",
      "0x7f000001",
      "0x7f.0.0.1",
      "0177.0.0.1",
      "1.2.3",
      "256.1.1.1",
      "1.2.3.4.5",
      "*.192.0.2.7",
      "*.7",
      "example.1",
      "0x",
      "[]",
      "[::1",
      "::1]",
      "[::1]80",
      "[::1]:",
      "[::1]:0",
      "[example.com]",
      "[192.0.2.7]",
      "2001:0db8::7",
      "[fe80::1%eth0]",
      ":::",
      ":",
      ":80",
      "xn--.example",
      "xn---a.example",
      std::string("exam\0ple.com", 12),
      std::string("[::1\0]", 6),
      std::string("1.2.3.4\0", 8),
      long_label,
      long_name,
      "example.com,example.org",
      "!example.com",
      "\"example.com\"",
  };
  for (const auto& text : bad)
    for (const auto list : {domain_list::allowed, domain_list::denied}) {
      const auto pattern = parse_pattern(text, list);
      ASSERT_FALSE(pattern) << text << " became " << pattern->text();
      EXPECT_EQ(pattern.failed().code, failure::configuration_invalid);
      EXPECT_EQ(pattern.failed().text.find('\n'), std::string::npos);
      EXPECT_GT(pattern.failed().text.size(), 20u) << "says nothing: " << pattern.failed().text;
      EXPECT_LT(pattern.failed().text.size(), 400u);
    }
}

TEST(ConfigPatterns, SaysWhatToWriteInstead) {
  const auto why = [](const char* text) {
    const auto pattern = parse_pattern(text, domain_list::allowed);
    return pattern ? std::string() : pattern.failed().text;
  };
  EXPECT_NE(why("b\xc3\xbc"
                "cher.example")
                .find("xn--"),
            std::string::npos);
  EXPECT_NE(why("foo.*").find("*.example.com"), std::string::npos);
  EXPECT_NE(why("https://example.com").find("host name alone"), std::string::npos);
  EXPECT_NE(why("*").find("network.deniedDomains"), std::string::npos);
  EXPECT_NE(why("127.0.0.1").find("network.allowedLocalPorts"), std::string::npos);
  EXPECT_NE(why("localhost:8080").find("network.allowedLocalPorts"), std::string::npos);
  EXPECT_NE(why("x.localhost").find("network.allowedLocalPorts"), std::string::npos);
  EXPECT_NE(why("intranet:80").find("with its domain"), std::string::npos);
  EXPECT_NE(why("db.internal").find("(\".internal\")"), std::string::npos);
}

TEST(ConfigPatterns, Matches) {
  struct {
    const char* pattern;
    const char* host;
    std::uint16_t port;
    bool expected;
  } const cases[] = {
      {"example.com", "example.com", 443, true},
      {"example.com", "www.example.com", 443, false},
      {"example.com", "example.com.evil.example", 443, false},
      {"example.com", "notexample.com", 443, false},
      {"example.com:443", "example.com", 443, true},
      {"example.com:443", "example.com", 80, false},
      {"*.example.com", "www.example.com", 443, true},
      {"*.example.com", "a.b.example.com", 443, true},
      {"*.example.com", "example.com", 443, false},
      {"*.example.com", ".example.com", 443, false},
      {"*.example.com", "notexample.com", 443, false},
      {"*.example.com", "example.com.evil.example", 443, false},
      {"*.example.com:8443", "www.example.com", 8443, true},
      {"*.example.com:8443", "www.example.com", 443, false},
      {"*", "anything.example", 1, true},
      {"*:25", "anything.example", 25, true},
      {"*:25", "anything.example", 587, false},
      {"[::1]", "::1", 80, true},
      {"192.0.2.7", "192.0.2.7", 80, true},
      {"192.0.2.7", "192.0.2.70", 80, false},
      {"example.com", "", 80, false},
  };
  for (const auto& c : cases) {
    const auto pattern = parse_pattern(c.pattern, domain_list::denied);
    ASSERT_TRUE(pattern) << c.pattern;
    EXPECT_EQ(pattern->matches(c.host, c.port), c.expected)
        << c.pattern << " and " << c.host << ':' << c.port;
  }
}

TEST(ConfigPatterns, FindsTheFirstEntryThatMatches) {
  std::vector<domain_pattern> patterns;
  for (const char* text : {"*.example.org:80", "*.example.org", "www.example.org"})
    patterns.push_back(*parse_pattern(text, domain_list::allowed));
  EXPECT_EQ(find_match(patterns, "www.example.org", 443), &patterns[1]);
  EXPECT_EQ(find_match(patterns, "www.example.org", 80), &patterns[0]);
  EXPECT_EQ(find_match(patterns, "example.org", 80), nullptr);
}

TEST(ConfigPatterns, TextIsAFixedPoint) {
  for (const char* text :
       {"EXAMPLE.com.", "*.A.b:7", "*", "*:9", "2001:db8:0:0::7", "[::ffff:192.0.2.1]:5"}) {
    const auto once = parse_pattern(text, domain_list::denied);
    if (!once)
      continue;
    const auto twice = parse_pattern(once->text(), domain_list::denied);
    ASSERT_TRUE(twice) << once->text();
    EXPECT_EQ(*once, *twice);
  }
}

} // namespace
} // namespace piorch::config
