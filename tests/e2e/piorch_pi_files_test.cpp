// What a worker behind piorch-pi sees, what of it it can change, and which credentials it gets.
#include "tests/e2e/piorch_pi_fixture.hpp"

namespace piorch::test {
namespace {

using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

using E2ePiorchPiFiles = piorch_pi_fixture;

TEST_F(E2ePiorchPiFiles, RefusesPathsThatAreNotThisRuns) {
  const auto with = [&](const char* name, std::string value) {
    auto p = rig.worker("echo ran");
    p.environment[name] = std::move(value);
    return p;
  };
  const auto session = [&](const std::string& flag, const std::string& path) {
    return rig.worker("echo ran", {"-p", flag, path, "Task: x"});
  };
  for (const std::string& place :
       {rig.runs().string(), (rig.runs() / "async-subagent-results").string(),
        (rig.runs() / "supervisor-channels").string(), (rig.w.home() / ".ssh").string(),
        (rig.runs() / "supervisor-channels/../async-subagent-results").string()})
    refuses(with("PI_SUBAGENT_SUPERVISOR_CHANNEL_DIR", place),
            "PI_SUBAGENT_SUPERVISOR_CHANNEL_DIR");
  std::filesystem::create_directory_symlink(rig.w.home() / ".ssh",
                                            rig.runs() / "supervisor-channels/link");
  refuses(with("PI_SUBAGENT_SUPERVISOR_CHANNEL_DIR", rig.runs() / "supervisor-channels/link"),
          "PI_SUBAGENT_SUPERVISOR_CHANNEL_DIR");
  refuses(session("--session-dir", rig.w.home() / ".ssh"), "--session-dir");
  refuses(session("--session-dir", rig.agent_dir() / "sessions"), "--session-dir");
  refuses(session("--session", rig.w.home() / "notes.txt"), "--session");
  refuses(session("--system-prompt", rig.w.home() / "notes.txt"), "--system-prompt");
  refuses(session("--system-prompt", rig.launch_dir() / "gone.md"), "does not exist");
  auto at_home = rig.worker("echo ran");
  at_home.directory = rig.w.home();
  refuses(at_home, rig.w.home().string());
  EXPECT_THAT(rig.supervisor.frames(), IsEmpty());
}

TEST_F(E2ePiorchPiFiles, AWorkerSeesItsOwnRunAndNothingElse) {
  const auto done = run(rig.worker(
      "cd; cat notes.txt .ssh/id_ed25519; cat " + (rig.w.top() / "outside/file").string() +
      "\nls \"$TMPDIR\"; echo x >" + (rig.launch_dir() / "ack.json").string() + "; echo x >>" +
      (rig.launch_dir() / "hand.md").string() + "; cat " + (rig.launch_dir() / "hand.md").string() +
      "\necho said >\"$PI_SUBAGENT_SUPERVISOR_CHANNEL_DIR/requests/1\"; cat " +
      (rig.runs() / "async-subagent-results/run.json").string() + "; mkdir -p " +
      (rig.runs() / "async-subagent-results").string() + "; echo forged >" +
      (rig.runs() / "async-subagent-results/run.json").string() + "; echo line >>" +
      (rig.session_dir() / "session.jsonl").string() + "; cat " +
      (rig.agent_dir() / "sessions/--project--/other.jsonl").string()));
  EXPECT_THAT(done.out, Not(HasSubstr("private")));
  EXPECT_THAT(done.out, Not(HasSubstr("another session")));
  EXPECT_THAT(done.out, Not(HasSubstr("a result")));
  EXPECT_THAT(done.out, HasSubstr("You are the hand."));
  EXPECT_THAT(done.err, HasSubstr("Read-only file system")); // the prompt
  EXPECT_EQ(read_file(rig.launch_dir() / "hand.md"), "You are the hand.\n");
  EXPECT_EQ(read_file(rig.launch_dir() / "ack.json"), "x\n");
  EXPECT_EQ(read_file(rig.runs() / "supervisor-channels/run-hand-0/requests/1"), "said\n");
  EXPECT_EQ(read_file(rig.runs() / "async-subagent-results/run.json"), "a result\n");
  EXPECT_EQ(read_file(rig.session_dir() / "session.jsonl"), "line\n");
}

// pi-subagents writes a worker's last words to its output file, and replies beside its requests,
// by names that the worker knows: through a link they would go anywhere.
TEST_F(E2ePiorchPiFiles, NoLinkComesIntoBeingWhereTheHostWrites) {
  const auto outputs = rig.agent_dir() / "sessions/--project--/subagent-artifacts/outputs/run";
  const auto channel = rig.runs() / "supervisor-channels/run-hand-0";
  std::filesystem::create_directories(outputs);
  std::filesystem::create_directories(channel / "replies");
  const auto runs = rig.w.project() / ".pi-subagents", new_runs = rig.w.project() / ".pi/subagents";
  std::filesystem::create_directories(runs);
  std::filesystem::create_directories(new_runs);
  std::string script = "ln -s /etc/target made-elsewhere; mkfifo pipe\n";
  for (const auto& place : {outputs, channel, channel / "requests", rig.session_dir(),
                            rig.launch_dir(), runs, new_runs}) {
    const auto name = place.string() + "/x";
    script += "ln -s ~/planted " + name + "; ln made-elsewhere " + name + "; mv made-elsewhere " +
              name + " && rm -f " + name + "; ln -s /etc/target made-elsewhere; mkfifo " + name +
              "; mv pipe " + name + "; mkfifo pipe; echo said >" + name + " && echo wrote\n";
  }
  script += "rmdir " + (channel / "replies").string() + "; ln -s ~ " +
            (channel / "replies").string() + "; mkdir -p " + (runs / "schedules/x").string() +
            "; mkdir -p " + (new_runs / "schedules/x").string() + "; true";
  const auto done = run(rig.worker(script));
  EXPECT_EQ(done.out, "wrote\nwrote\nwrote\nwrote\nwrote\nwrote\nwrote\n") << done.err;
  for (const auto& top : {rig.agent_dir(), rig.runs(), rig.launch_dir(), // all of them plain
                          runs, new_runs})
    for (const auto& e : std::filesystem::recursive_directory_iterator(top)) {
      const auto type = e.symlink_status().type();
      EXPECT_TRUE(type == std::filesystem::file_type::regular ||
                  type == std::filesystem::file_type::directory)
          << e.path();
    }
  EXPECT_TRUE(std::filesystem::is_symlink(rig.w.project() / "made-elsewhere"));
  EXPECT_FALSE(std::filesystem::exists(runs / "schedules")); // which would be run
  EXPECT_FALSE(std::filesystem::exists(new_runs / "schedules"));
}

TEST_F(E2ePiorchPiFiles, TheAgentDirectoryIsTheWorkersOwnAndTheHostsStaysAsItWas) {
  // The place of its outputs is made where it is missing.
  std::filesystem::create_directories(rig.agent_dir() /
                                      "sessions/--project--/subagent-artifacts/outputs/run");
  const auto before = snapshot(rig.agent_dir());
  const auto done = run(rig.worker(
      "cd ~/.pi/agent && mkdir settings.json.lock trust.json.lock && cat settings.json auth.json "
      "extensions/hello.js && echo evil >settings.json && echo evil >auth.json && echo ok; "
      "echo evil >extensions/hello.js; echo evil >extensions/new.js; rm -rf extensions; "
      "mkdir -p skills && echo evil >skills/x; exit 0"));
  EXPECT_THAT(done.out, HasSubstr("of\":\"the user"));
  EXPECT_THAT(done.out, HasSubstr("export default"));
  EXPECT_THAT(done.out, HasSubstr("ok\n")) << done.err;
  EXPECT_EQ(snapshot(rig.agent_dir()), before);
}

TEST_F(E2ePiorchPiFiles, CredentialsAndTheCapabilityStayOutside) {
  auto p = rig.worker("env; cat /proc/self/environ | tr '\\0' '\\n'",
                      {"-p", "--model", "anthropic/some", "Task: x"});
  p.environment["GITHUB_TOKEN"] = "secret-1";
  p.environment["OPENAI_API_KEY"] = "secret-2";
  p.environment["DATABASE_URL"] = "postgres://user:secret-3@db.example.org/x";
  p.environment["SSH_AUTH_SOCK"] = "/secret-4";
  p.environment["ANTHROPIC_API_KEY"] = "of-the-provider";
  p.environment["MY_TOKEN"] = "kept";
  p.environment["PIORCH_KEEP_ENV"] = "MY_TOKEN,AWS_,"; // names, not beginnings
  p.environment["AWS_SECRET_ACCESS_KEY"] = "secret-5";
  p.environment["APP_DBPASSWORD"] = "secret-6";
  p.environment["PI_SUBAGENT_PARENT_CAPABILITY_TOKEN"] = "of-the-run";
  const auto done = run(p);
  EXPECT_THAT(done.out, Not(HasSubstr("secret-")));
  EXPECT_THAT(done.out, Not(HasSubstr(rig.capability)));
  EXPECT_THAT(done.out, Not(HasSubstr("SUPERVISOR_SOCKET")));
  for (const char* kept :
       {"ANTHROPIC_API_KEY=of-the-provider", "MY_TOKEN=kept",
        "PI_SUBAGENT_PARENT_CAPABILITY_TOKEN=of-the-run", "PI_OFFLINE=1", "PI_SUBAGENT_PI_BINARY="})
    EXPECT_THAT(done.out, HasSubstr(kept));
}

// A model of a router's, whose key is in the environment alone.
TEST_F(E2ePiorchPiFiles, TheKeysOfEachProviderThatMayBeAskedStay) {
  write_file(rig.agent_dir() / "settings.json", R"({"defaultProvider":"openrouter"})");
  write_file(rig.agent_dir() / "auth.json", R"({"groq":{"key":"key-g"}})");
  auto p = rig.worker("env", {"-p", "--model", "anthropic/opus", "Task: x"});
  p.environment["OPENROUTER_API_KEY"] = "key-r";
  p.environment["ANTHROPIC_API_KEY"] = "key-a";
  p.environment["GROQ_API_KEY"] = "key-g";
  p.environment["OPENAI_API_KEY"] = "secret";
  EXPECT_THAT(run(p).out, AllOf(HasSubstr("key-r"), HasSubstr("key-a"), HasSubstr("key-g"),
                                Not(HasSubstr("secret"))));
}

TEST_F(E2ePiorchPiFiles, OfTheAgentDirectorysCredentialsAWorkerGetsThoseOfItsProvider) {
  write_file(rig.agent_dir() / "auth.json",
             R"({"anthropic":{"key":"key-a"},"openai":{"key":"key-o"}})");
  write_file(rig.agent_dir() / "models.json",
             R"({"providers":{"local":{"apiKey":"key-l"},"anthropic":{"apiKey":"key-m"}}})");
  const auto before = snapshot(rig.agent_dir());
  const auto seen = [&](const std::vector<std::string>& model) {
    std::vector<std::string> words{"-p"};
    words.insert(words.end(), model.begin(), model.end());
    words.push_back("Task: x");
    return run(rig.worker("cd ~/.pi/agent; cat auth.json models.json; grep -rlE 'key-[aolm]' . "
                          "| sort | tr '\n' ' '",
                          words))
        .out;
  };
  EXPECT_EQ(seen({"--model", "anthropic/some:high"}),
            "{\"anthropic\":{\"key\":\"key-a\"}}\n{\"providers\":{\"anthropic\":{\"apiKey\":"
            "\"key-m\"}}}\n./auth.json ./models.json ");
  EXPECT_EQ(seen({"--model", "local/some"}),
            "{}\n{\"providers\":{\"local\":{\"apiKey\":\"key-l\"}}}\n./models.json ");
  // The default model's, when the words name none.
  write_file(rig.agent_dir() / "settings.json", R"({"defaultProvider":"openai"})");
  EXPECT_EQ(seen({}), "{\"openai\":{\"key\":\"key-o\"}}\n{\"providers\":{}}\n./auth.json ");
  // A name that neither file knows may be part of a router's model: all, as for sessions.
  EXPECT_THAT(seen({"--model", "elsewhere/some"}),
              testing::AllOf(HasSubstr("key-a"), HasSubstr("key-o"), HasSubstr("key-l")));
  write_file(rig.agent_dir() / "settings.json", "{\"of\":\"the user\"}\n");
  EXPECT_EQ(snapshot(rig.agent_dir()), before);
}

TEST_F(E2ePiorchPiFiles, PermissionRequestsReachTheSessionThatAPersonLooksAt) {
  const auto requests = rig.agent_dir() / "sessions/permission-forwarding/sessions/parent-1";
  auto p = rig.worker("cd ~/.pi/agent/sessions/permission-forwarding/sessions/parent-1 && mkdir -p "
                      "requests && echo may I >requests/1; ls .. | tr '\n' ' '");
  p.environment["PI_SUBAGENT_PARENT_SESSION"] = "parent-1";
  run(p);
  EXPECT_FALSE(std::filesystem::exists(requests)); // nobody would answer
  std::filesystem::create_directories(rig.agent_dir() / "extensions/pi-permission-system");
  std::filesystem::create_directories(requests.parent_path() / "another");
  EXPECT_EQ(run(p).out, "parent-1 ");
  EXPECT_EQ(read_file(requests / "requests/1"), "may I\n");
  p.environment["PI_SUBAGENT_PARENT_SESSION"] = "../another";
  refuses(p, "PI_SUBAGENT_PARENT_SESSION");
}

TEST_F(E2ePiorchPiFiles, AWorktreesPointerAndItsRepositoryAreNotWritable) {
  const auto tree = rig.w.host_temp() / "pi-worktree-run-0";
  rig.w.host_output({"git", "worktree", "add", "-q", tree, "-b", "side"});
  const auto repository = snapshot(rig.w.project() / ".git");
  auto p =
      rig.worker("echo changed >>README.md; git status --short; git diff --stat; "
                 "mv .git old; rm -f .git; echo 'gitdir: /evil' >.git; rm -rf .git; ln -s x .git; "
                 "git config core.fsmonitor ./evil; git config --worktree core.fsmonitor ./evil; "
                 "git commit -qam x; mkdir new && cd new && git init -q . && git config "
                 "core.fsmonitor x; exit 0");
  p.directory = tree;
  const auto done = run(p);
  EXPECT_EQ(done.status, 0) << done.err;
  EXPECT_THAT(done.out, HasSubstr(" M README.md"));
  EXPECT_THAT(done.out, HasSubstr("1 file changed"));
  EXPECT_EQ(snapshot(rig.w.project() / ".git"), repository);
  auto host = rig.w.host({"git", "diff", "--stat"});
  host.directory = tree;
  EXPECT_THAT(run(host).out, HasSubstr("README.md"));
}

} // namespace
} // namespace piorch::test
