#include "sandbox/network/proxy_environment.hpp"

#include "config/limits.hpp"

#include <string_view>

namespace piorch::sandbox::network {

namespace {

std::string upper(std::string_view name) {
  std::string out(name);
  for (char& c : out)
    if (c >= 'a' && c <= 'z')
      c = static_cast<char>(c - 'a' + 'A');
  return out;
}

// Programs disagree about the case; curl takes http_proxy in lower case only.
void set_both(environment& e, std::string_view lower, const std::string& value) {
  e.set(lower, value);
  e.set(upper(lower), value);
}

// As one word of a shell command line.
std::string shell_word(std::string_view word) {
  std::string out = "'";
  for (char c : word)
    out += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return out + "'";
}

void append(environment& e, std::string_view name, std::string_view fallback,
            const std::string& more) {
  std::string value(e.value(name));
  if (value.empty())
    value = fallback;
  e.set(name, value.empty() ? more : value + ' ' + more);
}

} // namespace

void add_proxy_variables(environment& e, const std::string& connect_program) {
  const std::string port = std::to_string(limits::http_proxy_port);
  const std::string address = "127.0.0.1:" + port;
  // The http:// form everywhere, in ALL_PROXY too: several clients (httpx, reqwest,
  // Pi) fail at the sight of a socks5h:// they were built without, even if they
  // never use it. What speaks only SOCKS finds it at its port.
  const std::string proxy = "http://" + address;
  for (auto name : {"http_proxy", "https_proxy", "all_proxy", "grpc_proxy"})
    set_both(e, name, proxy);
  // Loopback inside is the sandbox's own. "::1" without brackets: httpx takes
  // offence at "[::1]". No private ranges: allowed intranet hosts go by the proxy.
  set_both(e, "no_proxy", "localhost,127.0.0.1,::1");
  set_both(e, "rsync_proxy", address);
  e.unset("ftp_proxy");
  e.unset("FTP_PROXY");
  e.set("NODE_USE_ENV_PROXY", "1"); // fetch of Node.js 24 and later
  e.set("YARN_HTTP_PROXY", proxy);
  e.set("YARN_HTTPS_PROXY", proxy);
  e.set("CLOUDSDK_PROXY_TYPE", "http");
  e.set("CLOUDSDK_PROXY_ADDRESS", "127.0.0.1");
  e.set("CLOUDSDK_PROXY_PORT", port);

  // ssh runs the ProxyCommand with the user's shell after expanding %h and %p.
  append(e, "GIT_SSH_COMMAND", "ssh",
         "-o " + shell_word("ProxyCommand=" + shell_word(connect_program) + " %h %p"));
  e.set("GIT_PROXY_COMMAND", connect_program); // git:// URLs

  // No other variable reaches every JVM; it makes each print a line on stderr.
  append(e, "JAVA_TOOL_OPTIONS", "",
         "-Dhttp.proxyHost=127.0.0.1 -Dhttp.proxyPort=" + port +
             " -Dhttps.proxyHost=127.0.0.1 -Dhttps.proxyPort=" +
             port); // loopback is direct by default
}

} // namespace piorch::sandbox::network
