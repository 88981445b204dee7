// piorch exec and real programs: what they reach, what they are told, and that
// nothing gets out beside the proxies.
#include "tests/e2e/network_programs.hpp"
#include "tests/support/terminal.hpp"

#include <csignal>
#include <pty.h>
#include <sys/un.h>

namespace {

using namespace piorch;
using namespace piorch::test;
using namespace std::chrono_literals;

TEST_F(E2eNetwork, CurlReachesAnAllowedHostAndTheReportSaysSo) {
  const auto r = exec("--allow-domain www.example.org", "curl -sS http://www.example.org/");
  EXPECT_EQ(r.status, 0) << r.output;
  EXPECT_EQ(r.output, "public");
  EXPECT_TRUE(has(
      report_text(),
      R"("network":[{"host":"www.example.org","port":80,"decision":"allow","source":"allowedDomains"}])"))
      << report_text();
}

TEST_F(E2eNetwork, ARefusalIsReadableAndNothingIsLookedUp) {
  const auto r = exec("--deny-domain '*.example.net'",
                      "curl -sS http://secret.example.org/; curl -sS http://a.example.net/");
  for (auto part :
       {"secret.example.org:80", "no rule allows it", "--allow-domain secret.example.org",
        "config.json", "Do not retry", "\"*.example.net\" of network.deniedDomains"})
    EXPECT_TRUE(has(r.output, part)) << part << '\n' << r.output;
  EXPECT_TRUE(has(report_text(), "deniedDomains")) << report_text();
  EXPECT_TRUE(dns->log().empty());
}

TEST_F(E2eNetwork, ProgramsThatPeopleRun) {
  ASSERT_EQ(
      std::system(
          ("cd '" + directory +
           "' && openssl req -x509 -newkey rsa:2048 -nodes -days 2 "
           "-subj /CN=www.example.org -keyout k -out c >/dev/null 2>&1 && cat k c >pem && "
           "mkdir site && git init -q --bare site/r.git && git -C site/r.git update-server-info && "
           "echo hello >site/file")
              .c_str()),
      0);
  serve_files(directory + "/site", 8443, true);
  const std::string url = "https://www.example.org:8443/";
  const auto r =
      exec("--allow-domain www.example.org --env GIT_SSL_NO_VERIFY=1",
           "set -e; curl -ksS " + url +
               "file; "
               "wget -q --no-check-certificate -O - " +
               url +
               "file; "
               "git clone -q " +
               url +
               "r.git clone 2>&1 | grep -v empty || true; test -d clone/.git; "
               "python3 -c \"import urllib.request as u, ssl; print(u.urlopen('" +
               url + "file', context=ssl._create_unverified_context()).read().decode(), end='')\"");
  EXPECT_EQ(r.status, 0) << r.output;
  EXPECT_EQ(r.output, "hello\nhello\nhello\n");
}

TEST_F(E2eNetwork, PiorchConnectCarriesSshAndSaysWhyNot) {
  const std::string connect = PIORCH_BUILD_DIR "/libexec/piorch/piorch-connect";
  auto r = exec("--allow-domain www.example.org",
                "printf 'over and out' | " + connect + " www.example.org 4433");
  EXPECT_EQ(r.output, "over and out");
  r = exec("", "GIT_SSH_VARIANT=ssh git ls-remote ssh://git@git.example.org/x");
  EXPECT_NE(r.status, 0);
  EXPECT_TRUE(has(r.output, "git.example.org:22")) << r.output;
  EXPECT_TRUE(has(r.output, "no rule allows it")) << r.output;
}

TEST_F(E2eNetwork, WhatAnEndedCommandHasSentArrives) {
  std::promise<std::pair<std::size_t, int>> received;
  serve(web, 4444, [&](peer& p) {
    // The command's last act, when the sender has exited.
    for (int i = 0; i < 3000 && !std::filesystem::exists(workspace + "/sent"); ++i)
      std::this_thread::sleep_for(10ms);
    std::this_thread::sleep_for(150ms);
    const auto n = p.all().size();
    received.set_value({n, p.last_error()});
  });
  const auto r = exec("--allow-domain www.example.org", R"(python3 -c "
import os, socket
s = socket.create_connection(('127.0.0.1', 41080))
s.sendall(b'CONNECT www.example.org:4444 HTTP/1.1\r\nHost: www.example.org:4444\r\n\r\n')
head = b''
while not head.endswith(b'\r\n\r\n'):
    head += s.recv(1)
s.sendall(b'q' * 1500000)
s.close()
os._exit(0)
"; >sent)");
  EXPECT_EQ(r.status, 0) << r.output;
  const auto seen = received.get_future().get();
  EXPECT_EQ(seen.first, 1'500'000u);
  EXPECT_EQ(seen.second, 0) << "a reset";
}

TEST_F(E2eNetwork, WhatIgnoresTheProxyFailsAtOnce) {
  const auto began = std::chrono::steady_clock::now();
  const auto r = exec(
      "--allow-domain www.example.org",
      "curl -sS --noproxy '*' http://192.0.2.80/; echo $?; "
      "curl -sS --noproxy '*' http://www.example.org/; echo $?; "
      "python3 -c \"import socket; socket.create_connection(('www.example.org', 80))\"; echo $?");
  EXPECT_LT(std::chrono::steady_clock::now() - began, 10s);
  EXPECT_TRUE(has(r.output, "7\n")) << r.output;
  EXPECT_TRUE(has(r.output, "6\n")) << r.output;
  EXPECT_FALSE(has(r.output, "public")) << r.output;
  EXPECT_TRUE(dns->log().empty());
}

TEST_F(E2eNetwork, NothingGetsOutBesideTheProxies) {
  dns->set("leak.example.org", {{"192.0.2.80"}});
  // Both wait in the host's network namespace, one in a directory that can be seen inside.
  const auto listening = [&](const std::string& name) {
    ipc::unique_fd fd(::socket(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0));
    sockaddr_un to{};
    to.sun_family = AF_UNIX;
    std::memcpy(to.sun_path, name.data(), name.size());
    const auto size = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + name.size());
    EXPECT_EQ(::bind(fd.get(), reinterpret_cast<sockaddr*>(&to), size), 0);
    EXPECT_EQ(::listen(fd.get(), 5), 0);
    return fd;
  };
  const auto by_path = listening(workspace + "/socket"),
             abstract = listening(std::string("\0piorch-test", 12));
  const auto r = exec("--allow-domain www.example.org", R"(python3 - <<'EOF'
import socket, ctypes, errno
def attempt(name, f):
    try:
        f()
        print(name, "GOT OUT")
    except OSError as e:
        print(name, errno.errorcode.get(e.errno, e))
q = b"\x12\x34\x01\x00\x00\x01\x00\x00\x00\x00\x00\x00\x04leak\x07example\x03org\x00\x00\x01\x00\x01"
attempt("udp", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM).sendto(q, ("192.0.2.53", 53)))
attempt("udp6", lambda: socket.socket(socket.AF_INET6, socket.SOCK_DGRAM).sendto(q, ("2001:db8::80", 53)))
attempt("tcp", lambda: socket.create_connection(("192.0.2.80", 80), 2))
attempt("ping", lambda: socket.socket(socket.AF_INET, socket.SOCK_DGRAM, socket.IPPROTO_ICMP).sendto(b"\x08\0\0\0\0\0\0\0", ("192.0.2.80", 0)))
attempt("raw", lambda: socket.socket(socket.AF_INET, socket.SOCK_RAW, socket.IPPROTO_RAW))
attempt("packet", lambda: socket.socket(socket.AF_PACKET, socket.SOCK_RAW, 0))
attempt("unix", lambda: socket.socket(socket.AF_UNIX).connect("socket"))
attempt("abstract", lambda: socket.socket(socket.AF_UNIX).connect("\0piorch-test"))
attempt("vsock", lambda: socket.socket(socket.AF_VSOCK, socket.SOCK_STREAM).connect((2, 22)))
libc = ctypes.CDLL(None, use_errno=True)
print("io_uring", "GOT OUT" if libc.syscall(425, 1, ctypes.create_string_buffer(512)) >= 0 else "refused")
EOF)");
  for (auto name : {"udp ", "udp6 ", "tcp ", "ping ", "raw ", "packet ", "unix ", "abstract ",
                    "vsock ", "io_uring "})
    EXPECT_TRUE(has(r.output, name)) << name << r.output;
  EXPECT_FALSE(has(r.output, "GOT OUT")) << r.output;
  EXPECT_TRUE(dns->log().empty());
}

TEST_F(E2eNetwork, AnAllowedLocalPortIsReachedAtBothLoopbacks) {
  server model(host->in([] { return listen_on("127.0.0.1", 11434); }),
               [](peer& p) { p.send("model"); });
  server other(host->in([] { return listen_on("127.0.0.1", 11435); }),
               [](peer& p) { p.send("other"); });
  const auto r = exec("--allow-local-port 11434",
                      "python3 -c \"import socket\nfor h in '127.0.0.1', '::1':\n"
                      "  print(socket.create_connection((h, 11434)).recv(9))\n"
                      "socket.create_connection(('127.0.0.1', 11435))\" 2>&1 | grep -v '^ '");
  EXPECT_TRUE(has(r.output, "b'model'\nb'model'")) << r.output;
  EXPECT_TRUE(has(r.output, "ConnectionRefused")) << r.output;
}

// No process of the sandbox may take such a port itself.
TEST_F(E2eNetwork, AnAllowedLocalPortMayBeBelow1024) {
  server site(host->in([] { return listen_on("127.0.0.1", 80); }), [](peer& p) { p.send("web"); });
  const auto r = exec("--allow-local-port 80",
                      "python3 -c \"import socket\n"
                      "print(socket.create_connection(('127.0.0.1', 80)).recv(9))\n"
                      "socket.socket().bind(('127.0.0.1', 81))\" 2>&1 | grep -v '^ '");
  EXPECT_TRUE(has(r.output, "b'web'")) << r.output;
  EXPECT_TRUE(has(r.output, "PermissionError")) << r.output;
}

// -- at a terminal ---------------------------------------------------------------

class E2eNetworkTerminal : public E2eNetwork {
protected:
  program on_terminal(const std::string& command) {
    program p;
    p.argv = {PIORCH_BUILD_DIR "/bin/piorch", "exec", "-c", command};
    p.directory = workspace;
    p.environment["HOME"] = directory;
    return p;
  }
  // Types `answer` when the question comes; what was on the screen.
  std::string at_terminal(const std::string& command, const std::string& answer) {
    int terminal = -1;
    const pid_t child = ::forkpty(&terminal, nullptr, nullptr, nullptr);
    if (child == 0) {
      if (::chdir(workspace.c_str()) == 0 && ::setenv("HOME", directory.c_str(), 1) == 0)
        ::execl(PIORCH_BUILD_DIR "/bin/piorch", "piorch", "exec", "-c", command.c_str(), nullptr);
      ::_exit(99);
    }
    std::string screen;
    bool answered = false;
    for (char block[4096];;) {
      pollfd p{terminal, POLLIN, 0};
      if (::poll(&p, 1, 20000) <= 0)
        break;
      const auto n = ::read(terminal, block, sizeof block);
      if (n <= 0)
        break;
      screen.append(block, static_cast<std::size_t>(n));
      if (!answered && has(screen, "Anything else is no: ")) {
        answered = true;
        EXPECT_GT(::write(terminal, answer.data(), answer.size()), 0);
      }
    }
    ::kill(child, SIGKILL);
    ::waitpid(child, nullptr, 0);
    ::close(terminal);
    return screen;
  }
};

TEST_F(E2eNetworkTerminal, APersonSaysYes) {
  const auto screen = at_terminal("curl -sS http://www.example.org/", "www.example.org\n");
  EXPECT_TRUE(has(screen, "www.example.org:80")) << screen;
  EXPECT_TRUE(has(screen, "command: curl -sS http://www.example.org/")) << screen;
  EXPECT_TRUE(has(screen, "public")) << screen;
}

// Its stderr passes the broker then, which writes nothing while a question is open.
TEST_F(E2eNetworkTerminal, AlsoWhereACommandMayBeRunAgainOnTheHost) {
  const std::string dir = directory + "/.pi/agent/extensions/pi-sandbox";
  std::filesystem::create_directories(dir);
  std::ofstream(dir + "/config.json")
      << R"({"hostIPC": {"mode": "ask", "retryOnUnixSocketError": true}})";
  const auto screen = at_terminal(
      "(for i in 1 2 3 4 5 6 7 8 9; do echo $i >&2; done) & curl -sS http://www.example.org/; "
      "wait; echo the end >&2",
      "www.example.org\n");
  EXPECT_TRUE(has(screen, "public")) << screen;
  EXPECT_TRUE(has(screen, "9\r\n")) << screen;
  EXPECT_TRUE(has(screen, "the end\r\n")) << screen;
  EXPECT_TRUE(has(screen, "Anything else is no: www.example.org\r\n")) << screen;
}

TEST_F(E2eNetworkTerminal, APersonSaysNoOnce) {
  const auto screen =
      at_terminal("curl -sS http://www.example.org/; curl -sS http://www.example.org/", "n\n");
  EXPECT_TRUE(has(screen, "the user said no")) << screen;
  EXPECT_TRUE(has(screen, "not asked again")) << screen;
  EXPECT_FALSE(has(screen, "public")) << screen;
  EXPECT_TRUE(dns->log().empty());
}

TEST_F(E2eNetworkTerminal, NoAnswerInTimeIsNo) {
  const std::string dir = directory + "/.pi/agent/extensions/pi-sandbox";
  std::filesystem::create_directories(dir);
  std::ofstream(dir + "/config.json") << R"({"approvals": {"timeoutSeconds": 1}})";
  terminal t(on_terminal("curl -sS http://www.example.org/; echo go\"\"es on"));
  ASSERT_TRUE(t.sees("Anything else is no: ")) << t.screen();
  EXPECT_TRUE(t.sees("nobody answered the request for approval within 1 second.")) << t.screen();
  EXPECT_TRUE(t.sees("goes on")) << t.screen();
  EXPECT_EQ(t.end(), 0);
  EXPECT_TRUE(dns->log().empty());
}

TEST_F(E2eNetworkTerminal, WithNoAskNothingIsAsked) {
  auto p = on_terminal("curl -sS http://www.example.org/; echo go\"\"es on");
  p.argv.insert(p.argv.begin() + 2, "--no-ask");
  terminal t(p);
  ASSERT_TRUE(t.sees("nobody can be asked")) << t.screen();
  EXPECT_TRUE(t.sees("goes on")) << t.screen();
  EXPECT_FALSE(has(t.screen(), "Anything else is no")) << t.screen();
}

// Its output goes elsewhere, the person is there.
TEST_F(E2eNetworkTerminal, WithAskAlsoWhenStderrIsAFile) {
  auto p = on_terminal("");
  p.argv = {"/bin/sh", "-c",
            p.argv[0] + " exec --ask -c 'curl -sS http://www.example.org/' 2>errors"};
  terminal t(p);
  ASSERT_TRUE(t.sees("Anything else is no: ")) << t.screen();
  t.type("www.example.org\n");
  EXPECT_TRUE(t.sees("public")) << t.screen();
}

TEST_F(E2eNetworkTerminal, AYesIsNotEnoughTheNameMustBeTyped) {
  const auto screen = at_terminal("curl -sS http://www.example.org/", "y\n");
  EXPECT_TRUE(has(screen, "the user said no")) << screen;
  EXPECT_TRUE(dns->log().empty());
}

// Outside of the command's process group and session, with the terminal open.
TEST_F(E2eNetworkTerminal, NothingRunsOrForgesWhileTheQuestionIsOpen) {
  terminal t(on_terminal("setsid sh -c 'while :; do stty raw -echo kill n eof y <&1; "
                         "echo TI\"\"CK; touch ticked; sleep 0.05; done' <&1 & "
                         "until [ -e ticked ]; do sleep 0.05; done; "
                         "curl -sS http://www.example.org/; rm ticked; "
                         "until [ -e ticked ]; do sleep 0.05; done; echo over; "
                         "kill -9 $!; stty sane"));
  ASSERT_TRUE(t.sees("TICK")) << t.screen();
  ASSERT_TRUE(t.sees("Anything else is no: ")) << t.screen();
  EXPECT_FALSE(t.sees("TICK", milliseconds(700))) << t.screen();
  t.type("wwn\x7fw.example.org\n"); // with their kill character this would be another word
  EXPECT_TRUE(t.sees("public")) << t.screen();
  EXPECT_TRUE(t.sees("TICK")) << t.screen() << "not continued";
  EXPECT_TRUE(t.sees("over")) << t.screen();
}

TEST_F(E2eNetworkTerminal, ControlCAtTheQuestionIsANoAndEndsTheCommand) {
  terminal t(on_terminal("curl -sS http://www.example.org/; sleep 1000"));
  ASSERT_TRUE(t.sees("Anything else is no: ")) << t.screen();
  t.type("\x03");
  EXPECT_EQ(t.end(), 130) << t.screen();
  EXPECT_TRUE(dns->log().empty());
}

TEST_F(E2eNetworkTerminal, ControlZAtTheQuestionStopsTheJobUntilItIsInFront) {
  auto shell = on_terminal("");
  shell.argv = {"/bin/bash", "--norc", "--noprofile", "-i"};
  shell.environment["PS1"] = "host$ ";
  shell.environment["TERM"] = "dumb";
  const std::string run =
      PIORCH_BUILD_DIR "/bin/piorch exec -c 'curl -sS http://www.example.org/; echo ov\"\"er'\n";
  terminal t(shell);
  t.type(run);
  ASSERT_TRUE(t.sees("Anything else is no: ")) << t.screen();
  t.type("www.\x1a");
  ASSERT_TRUE(t.sees("Stopped")) << t.screen();
  t.type("fg\n");
  ASSERT_TRUE(t.sees("Anything else is no: ")) << t.screen();
  t.type("www.example.org\n");
  ASSERT_TRUE(t.sees("publicover")) << t.screen();
  t.type(run);
  ASSERT_TRUE(t.sees("Anything else is no: ")) << t.screen();
  t.type("\x1a");
  ASSERT_TRUE(t.sees("Stopped")) << t.screen();
  t.type("kill %1; while kill -0 %1 2>/dev/null; do :; done; exit 0\n");
  EXPECT_EQ(t.end(), 0) << t.screen();
}

TEST_F(E2eNetworkTerminal, ControlZWithoutAShellAsksAgain) {
  terminal t(on_terminal("curl -sS http://www.example.org/"));
  ASSERT_TRUE(t.sees("Anything else is no: ")) << t.screen();
  t.type("\x1a");
  ASSERT_TRUE(t.sees("Anything else is no: ")) << t.screen() << "nobody could let it go on";
  t.type("www.example.org\n");
  EXPECT_TRUE(t.sees("public")) << t.screen();
}

TEST_F(E2eNetworkTerminal, AJobThatWasStoppedStaysStopped) {
  terminal t(on_terminal("sh -c 'kill -STOP $$; echo WO\"\"KEN' & sleep 0.3; "
                         "curl -sS http://www.example.org/; sleep 0.3; "
                         "cut -d' ' -f3 /proc/$!/stat; kill -KILL $!; echo over"));
  ASSERT_TRUE(t.sees("Anything else is no: ")) << t.screen();
  t.type("n\n");
  EXPECT_TRUE(t.sees("over")) << t.screen();
  EXPECT_FALSE(has(t.screen(), "WOKEN")) << t.screen();
}

TEST_F(E2eNetworkTerminal, ACommandThatReadsTheTerminalMeanwhileGoesOnAfterwards) {
  const auto screen = at_terminal("(curl -sS http://www.example.org/ >body; echo fetched) & read "
                                  "line; wait; echo got:$line; cat body",
                                  "www.example.org\nhello\n");
  EXPECT_TRUE(has(screen, "fetched")) << screen;
  EXPECT_TRUE(has(screen, "got:hello")) << screen;
  EXPECT_TRUE(has(screen, "public")) << screen;
}

} // namespace
