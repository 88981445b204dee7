// Package managers, language run-times and ssh in a sandbox with nothing configured
// for it: each finds its way through the proxies, or says at once why not.
#include "tests/e2e/network_programs.hpp"

namespace {

using namespace piorch;
using namespace piorch::test;
using namespace std::chrono_literals;

const std::string registry = "http://registry.example.org:8080";

class E2eNetworkRegistries : public E2eNetwork {
protected:
  void SetUp() override {
    E2eNetwork::SetUp();
    if (IsSkipped() || HasFatalFailure())
      return;
    dns->set("registry.example.org", {{"192.0.2.80"}}, 60);
  }
  void TearDown() override {
    if (ssh_server > 0) {
      ::kill(ssh_server, SIGKILL);
      ::waitpid(ssh_server, nullptr, 0);
    }
    E2eNetwork::TearDown();
  }

  // The packages, on a web server outside.
  void start_registry() {
    const std::string site = directory + "/site";
    ASSERT_EQ(
        std::system(("/usr/bin/python3 " PIORCH_SOURCE_DIR "/tests/support/registry_site.py '" +
                     site + "' '" + workspace + "/index' " + registry)
                        .c_str()),
        0);
    serve_files(site, 8080, false);
  }
  // False, or a failure, when the program is not installed.
  bool have(const std::string& program) {
    if (std::system(("command -v " + program + " >/dev/null").c_str()) == 0)
      return true;
    if (std::getenv("PIORCH_MUST_WORK"))
      ADD_FAILURE() << program << " is missing (tools/ci/packages-test)";
    return false;
  }
  void write(const std::string& name, const std::string& text) {
    const auto path = std::filesystem::path(workspace) / name;
    std::filesystem::create_directories(path.parent_path());
    std::ofstream(path) << text;
  }
  // A program that reaches the registry when it may, and when it may not ends in a
  // few seconds with what was refused.
  void expect_both(const std::string& command, const std::string& wanted,
                   const std::string& reason = "registry.example.org") {
    const auto r = exec("--allow-domain registry.example.org", command);
    EXPECT_EQ(r.status, 0) << r.output;
    EXPECT_TRUE(has(r.output, wanted)) << r.output;
    EXPECT_TRUE(has(report_text(), R"("decision":"allow","source":"allowedDomains")"))
        << report_text();
    const auto asked = dns->log().size();
    const auto began = std::chrono::steady_clock::now();
    const auto refused = exec("", command);
    EXPECT_LT(std::chrono::steady_clock::now() - began, 45s); // no time-out of its own
    EXPECT_NE(refused.status, 0);
    EXPECT_FALSE(has(refused.output, wanted)) << refused.output;
    EXPECT_TRUE(has(refused.output, reason)) << refused.output;
    EXPECT_TRUE(has(report_text(), R"("decision":"deny","source":"noApprover")")) << report_text();
    EXPECT_EQ(dns->log().size(), asked);
  }

  pid_t ssh_server = -1;
};

TEST_F(E2eNetworkRegistries, Npm) {
  if (!have("npm"))
    GTEST_SKIP();
  start_registry();
  write("package.json", "{}");
  expect_both("set -e; rm -rf node_modules; npm install --no-audit --no-fund --fetch-retries 0 "
              "--cache \"$TMPDIR/cache\" --registry " +
                  registry + "/npm thing; node -p 'require(\"thing\")'",
              "npm thing");
}

TEST_F(E2eNetworkRegistries, Pip) {
  if (!have("/usr/bin/pip3"))
    GTEST_SKIP();
  start_registry();
  expect_both("set -e; rm -rf t; /usr/bin/python3 -m pip install -q --retries 0 "
              "--no-cache-dir --disable-pip-version-check --root-user-action ignore "
              "--target t --index-url " +
                  registry +
                  "/simple --trusted-host registry.example.org thing; "
                  "PYTHONPATH=t /usr/bin/python3 -c 'import thing; print(thing.name)'",
              "pip thing", "No matching distribution"); // it has seen a 403 and does not say so
}

TEST_F(E2eNetworkRegistries, PythonRequests) {
  if (!have("/usr/bin/python3") || std::system("/usr/bin/python3 -c 'import requests'") != 0) {
    if (std::getenv("PIORCH_MUST_WORK"))
      FAIL() << "python3-requests is missing";
    GTEST_SKIP();
  }
  start_registry();
  expect_both("/usr/bin/python3 -c 'import requests, sys; r = requests.get(\"" + registry +
                  "/go/example.org/thing/@v/list\"); print(r.status_code, r.text); "
                  "sys.exit(r.status_code != 200)'",
              "v1.0.0", "no rule allows it");
}

TEST_F(E2eNetworkRegistries, Cargo) {
  if (!have("/usr/bin/cargo"))
    GTEST_SKIP();
  start_registry();
  write("Cargo.toml", "[package]\nname = \"user\"\nversion = \"0.1.0\"\nedition = \"2018\"\n"
                      "[dependencies]\nthing = { version = \"1\", registry = \"stub\" }\n");
  write("src/main.rs", "fn main() { println!(\"{}\", thing::name()); }\n");
  write(".cargo/config.toml", "[registries.stub]\nindex = \"file://" + workspace +
                                  "/index\"\n[net]\nretry = 0\n[registry]\ndefault = \"stub\"\n");
  // The index is a Git repository that only the host may set up; the crate is fetched.
  ASSERT_EQ(std::system(("cd '" + workspace +
                         "' && CARGO_HOME=home RUSTC=/usr/bin/rustc /usr/bin/cargo -q "
                         "generate-lockfile")
                            .c_str()),
            0);
  expect_both("rm -rf home/registry/cache home/registry/src; CARGO_HOME=home RUSTC=/usr/bin/rustc "
              "/usr/bin/cargo run --locked --color never 2>&1",
              "cargo thing");
}

TEST_F(E2eNetworkRegistries, Go) {
  if (!have("go"))
    GTEST_SKIP();
  start_registry();
  write("go.mod", "module user\n\ngo 1.18\n\nrequire example.org/thing v1.0.0\n");
  write("main.go", "package main\n\nimport \"example.org/thing\"\n\nfunc main() { "
                   "println(thing.Name) }\n");
  expect_both("HOME=$TMPDIR GOPATH=$TMPDIR/go GOCACHE=$TMPDIR/gocache GOFLAGS='-mod=mod "
              "-modcacherw' GONOSUMDB='*' GOPROXY=" +
                  registry + "/go go run . 2>&1",
              "go thing");
}

TEST_F(E2eNetworkRegistries, Java) {
  if (!have("java") || !have("javac"))
    GTEST_SKIP();
  start_registry();
  write("Fetch.java", R"(import java.net.*;
import java.net.http.*;

public class Fetch {
  public static void main(String[] words) throws Exception {
    var url = URI.create(words[0]);
    var old = (HttpURLConnection) url.toURL().openConnection();
    var reply = HttpClient.newHttpClient().send(HttpRequest.newBuilder(url).build(),
                                                HttpResponse.BodyHandlers.ofString());
    System.out.println(old.getResponseCode() + " " + reply.statusCode() + " " + reply.body());
    System.exit(reply.statusCode() == 200 && old.getResponseCode() == 200 ? 0 : 1);
  }
}
)");
  expect_both("java Fetch.java " + registry + "/go/example.org/thing/@v/list", "200 200 v1.0.0",
              "no rule allows it");
}

TEST_F(E2eNetworkRegistries, FetchOfNodeThatKnowsProxies) {
  const std::string node = PIORCH_SOURCE_DIR "/build/pi/bin/node";
  if (!have(node))
    GTEST_SKIP();
  start_registry();
  expect_both(node + " --no-warnings -e 'fetch(\"" + registry +
                  "/go/example.org/thing/@v/list\").then(async r => { console.log(r.status, await "
                  "r.text()); process.exit(r.ok ? 0 : 1) })'",
              "200 v1.0.0", "Proxy response (403)");
}

// What ignores the variables has no route: it must fail at once, and say so.
TEST_F(E2eNetworkRegistries, ProgramsThatIgnoreTheProxyFailFast) {
  if (!have("node") || !have("java") || !have("javac"))
    GTEST_SKIP();
  start_registry();
  write("Direct.java", "class Direct { public static void main(String[] a) throws Exception { try {"
                       " new java.net.URL(a[0]).openStream(); } catch (java.io.IOException e) {"
                       " System.out.println(\"java: \" + e); } } }");
  ASSERT_EQ(std::system(("cd '" + workspace + "' && javac Direct.java 2>&1").c_str()), 0);
  const auto asked = dns->log().size(); // the web server's own name
  const auto began = std::chrono::steady_clock::now();
  const auto r = exec(
      "--allow-domain registry.example.org",
      "unset JAVA_TOOL_OPTIONS NODE_USE_ENV_PROXY; node -e 'fetch(\"" + registry +
          "/npm/thing\").catch(e => console.log(\"node:\", e.cause.code))'; java Direct " +
          registry +
          "/; "
          "/usr/bin/python3 -c \"import http.client as h\ntry: h.HTTPConnection("
          "'registry.example.org', 8080, timeout=20).request('GET', '/')\nexcept OSError as e: "
          "print('python:', e)\"");
  EXPECT_LT(std::chrono::steady_clock::now() - began, 20s);
  EXPECT_TRUE(has(r.output, "node: E")) << r.output; // EAI_AGAIN or ENOTFOUND
  EXPECT_TRUE(has(r.output, "python: ")) << r.output;
  EXPECT_TRUE(has(r.output, "java: java.net.")) << r.output;
  EXPECT_EQ(dns->log().size(), asked);
}

TEST_F(E2eNetworkRegistries, GitOverSshThroughOurProxyCommand) {
  std::string map;
  std::getline(std::ifstream("/proc/self/uid_map"), map, '-');
  if (!has(map, "4294967295"))
    GTEST_SKIP() << "sshd needs more than one user id";
  if (!have("/usr/sbin/sshd"))
    GTEST_SKIP();
  const std::string dir = directory + "/ssh";
  ASSERT_EQ(
      std::system(("mkdir -p /run/sshd '" + dir + "' && cd '" + dir +
                   "' && ssh-keygen -q -t ed25519 -N '' -f host && ssh-keygen -q -t ed25519 "
                   "-N '' -f '" +
                   workspace + "/id' && cp '" + workspace +
                   "/id.pub' keys && git init -q --bare r.git && git init -q w && cd w && git "
                   "-c user.name=t -c user.email=t@example.org commit -q --allow-empty -m "
                   "'over ssh' && git push -q ../r.git HEAD:refs/heads/master")
                      .c_str()),
      0);
  std::ofstream(dir + "/config") << "ListenAddress 192.0.2.80:2222\nHostKey " << dir
                                 << "/host\nAuthorizedKeysFile " << dir
                                 << "/keys\nPermitRootLogin yes\nStrictModes no\nUsePAM no\n"
                                    "PidFile none\nLogLevel QUIET\n";
  ssh_server = outside->in([&] {
    const pid_t child = ::fork();
    if (child == 0) {
      ::execl("/usr/sbin/sshd", "/usr/sbin/sshd", "-D", "-e", "-f", (dir + "/config").c_str(),
              nullptr);
      ::_exit(127);
    }
    return child;
  });
  outside->in([&] { // until it listens
    for (int i = 0; i < 500; ++i) {
      const int fd = ::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0);
      sockaddr_in a{};
      a.sin_family = AF_INET;
      a.sin_port = htons(2222);
      ::inet_pton(AF_INET, web, &a.sin_addr);
      const bool up = ::connect(fd, reinterpret_cast<sockaddr*>(&a), sizeof a) == 0;
      ::close(fd);
      if (up)
        return;
      std::this_thread::sleep_for(20ms);
    }
    ADD_FAILURE() << "sshd does not come up";
  });
  const std::string clone = "git clone -q ssh://root@www.example.org:2222" + dir +
                            "/r.git c 2>&1 && git -C c log --format=%s origin/master";
  const std::string flags = "--env \"GIT_SSH_COMMAND=ssh -i " + workspace +
                            "/id -o BatchMode=yes -o "
                            "StrictHostKeyChecking=no -o UserKnownHostsFile=/dev/null -o "
                            "LogLevel=ERROR\" ";
  const auto r = exec(flags + "--allow-domain www.example.org:2222", clone);
  EXPECT_EQ(r.status, 0) << r.output;
  EXPECT_TRUE(has(r.output, "over ssh")) << r.output;
  const auto refused = exec(flags, "mkdir d; cd d; " + clone);
  EXPECT_NE(refused.status, 0);
  EXPECT_TRUE(has(refused.output, "no rule allows it")) << refused.output;
}

} // namespace
