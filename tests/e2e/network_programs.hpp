// A world for real programs in a real sandbox: the "host" is a network namespace of
// the test with a name server of its own; outside stands a web server.
#pragma once

#include "tests/support/network_world.hpp"
#include "tests/support/read_file.hpp"

#include <csignal>
#include <sys/mount.h>

namespace piorch::test {

inline bool has(const std::string& text, const std::string& part) {
  return text.find(part) != std::string::npos;
}

struct run_result {
  int status = -1;
  std::string output; // both streams
};

class E2eNetwork : public network_world {
protected:
  void SetUp() override {
    if (!netns::become_root() || ::unshare(CLONE_NEWNS) != 0 ||
        ::mount(nullptr, "/", nullptr, MS_REC | MS_PRIVATE, nullptr) != 0) {
      if (std::getenv("PIORCH_MUST_WORK"))
        FAIL() << "no namespaces here";
      GTEST_SKIP() << "no namespaces here";
    }
    network_world::SetUp();
    ASSERT_EQ(::mount((directory + "/resolv.conf").c_str(), "/etc/resolv.conf", nullptr, MS_BIND,
                      nullptr),
              0);
    host->enter();
    workspace = directory + "/work";
    std::filesystem::create_directories(workspace);
    // Not the machine's: as root of a user namespace a user would have root's place for private
    // files there, at the same time as other tests.
    std::filesystem::create_directories(directory + "/tmp");
    ::setenv("TMPDIR", (directory + "/tmp").c_str(), 1);
    dns->set("www.example.org", {{"192.0.2.80"}}, 60);
    serve(web, 80, [](peer& p) {
      p.head();
      p.send("HTTP/1.1 200 OK\r\nContent-Length: 6\r\nConnection: close\r\n\r\npublic");
    });
    serve(web, 4433, [](peer& p) {
      for (auto s = p.some(); !s.empty(); s = p.some())
        p.send(s);
    });
  }
  void TearDown() override {
    if (web_server > 0) {
      ::kill(web_server, SIGKILL);
      ::waitpid(web_server, nullptr, 0);
    }
    ::umount2("/etc/resolv.conf", MNT_DETACH);
    ::unsetenv("TMPDIR");
    network_world::TearDown();
  }

  // piorch exec OPTIONS -c COMMAND, without a terminal.
  run_result exec(const std::string& flags, const std::string& command) {
    std::ofstream(directory + "/command") << command;
    const std::string line = "cd '" + workspace + "' && HOME='" + directory +
                             "' timeout 60 " PIORCH_BUILD_DIR "/bin/piorch exec --report '" +
                             directory + "/report' " + flags + " -c \"$(cat '" + directory +
                             "/command')\" 2>&1 </dev/null";
    run_result out;
    FILE* pipe = ::popen(line.c_str(), "r");
    char block[4096];
    for (std::size_t n; (n = std::fread(block, 1, sizeof block, pipe)) > 0;)
      out.output.append(block, n);
    const int status = ::pclose(pipe);
    out.status = WIFEXITED(status) ? WEXITSTATUS(status) : -1;
    return out;
  }
  std::string report_text() { return read_file(directory + "/report"); }
  // Static files below `root`, with TLS if there is a certificate.
  void serve_files(const std::string& root, int port, bool tls) {
    const std::string program =
        "import http.server,ssl,os\nos.chdir('" + root +
        "')\n"
        "s=http.server.ThreadingHTTPServer(('192.0.2.80'," +
        std::to_string(port) + "),http.server.SimpleHTTPRequestHandler)\n" +
        (tls ? "c=ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)\nc.load_cert_chain('" + directory +
                   "/pem')\n"
                   "s.socket=c.wrap_socket(s.socket,server_side=True)\n"
             : "") +
        "print('up',flush=True)\ns.serve_forever()\n";
    int ready[2];
    ASSERT_EQ(::pipe(ready), 0);
    web_server = outside->in([&] {
      const pid_t child = ::fork();
      if (child != 0)
        return child;
      ::dup2(ready[1], 1);
      ::dup2(::open("/dev/null", O_WRONLY | O_CLOEXEC), 2);
      ::execlp("python3", "python3", "-c", program.c_str(), nullptr);
      ::_exit(127);
    });
    ::close(ready[1]);
    char c;
    ASSERT_EQ(::read(ready[0], &c, 1), 1) << "no web server";
    ::close(ready[0]);
  }

  std::string workspace;
  pid_t web_server = -1;
};

} // namespace piorch::test
