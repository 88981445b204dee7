// The variables that lead programs to the proxies.
#include "sandbox/network/proxy_environment.hpp"

#include <gtest/gtest.h>

namespace {

using namespace piorch::sandbox;

TEST(SandboxNetworkEnvironment, InBothCasesWhateverWasThere) {
  environment e({"http_proxy=http://other.example.org:3128", "HTTPS_PROXY=x", "no_proxy=*",
                 "ALL_PROXY=socks5h://x", "FTP_PROXY=x", "ftp_proxy=x", "HOME=/home/u"});
  network::add_proxy_variables(e, "/usr/libexec/piorch/piorch-connect");
  for (const char* name : {"http_proxy", "HTTP_PROXY", "https_proxy", "HTTPS_PROXY", "all_proxy",
                           "ALL_PROXY", "grpc_proxy", "GRPC_PROXY"})
    EXPECT_EQ(e.value(name), "http://127.0.0.1:41080") << name;
  for (const char* name : {"no_proxy", "NO_PROXY"})
    EXPECT_EQ(e.value(name), "localhost,127.0.0.1,::1") << name;
  for (const char* name : {"rsync_proxy", "RSYNC_PROXY"})
    EXPECT_EQ(e.value(name), "127.0.0.1:41080") << name;
  for (const char* name : {"ftp_proxy", "FTP_PROXY"})
    EXPECT_EQ(e.find(name), nullptr) << name;
  EXPECT_EQ(e.value("NODE_USE_ENV_PROXY"), "1");
  EXPECT_EQ(e.value("HOME"), "/home/u");
}

TEST(SandboxNetworkEnvironment, WhatAPersonHasSetForSshAndJavaStays) {
  environment e({"GIT_SSH_COMMAND=ssh -i key", "JAVA_TOOL_OPTIONS=-Xmx1g"});
  network::add_proxy_variables(e, "/a b/connect");
  EXPECT_EQ(e.value("GIT_SSH_COMMAND"),
            R"(ssh -i key -o 'ProxyCommand='\''/a b/connect'\'' %h %p')");
  EXPECT_EQ(e.value("GIT_PROXY_COMMAND"), "/a b/connect");
  EXPECT_EQ(e.value("JAVA_TOOL_OPTIONS").substr(0, 32), "-Xmx1g -Dhttp.proxyHost=127.0.0.");
  environment none;
  network::add_proxy_variables(none, "/x");
  EXPECT_EQ(none.value("GIT_SSH_COMMAND"), R"(ssh -o 'ProxyCommand='\''/x'\'' %h %p')");
}

} // namespace
