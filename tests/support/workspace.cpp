#include "tests/support/workspace.hpp"

#include <cstdio>
#include <cstdlib>
#include <fstream>
#include <stdexcept>
#include <sys/stat.h>

namespace piorch::test {

namespace fs = std::filesystem;

void write_file(const fs::path& file, const std::string& text) {
  fs::create_directories(file.parent_path());
  std::ofstream out(file, std::ios::binary);
  out << text;
  if (!out.flush())
    throw std::runtime_error("cannot write " + file.string());
}

std::map<std::string, std::string> snapshot(const fs::path& top) {
  std::map<std::string, std::string> out;
  for (const auto& e : fs::recursive_directory_iterator(top)) {
    struct stat st {};
    ::lstat(e.path().c_str(), &st);
    char mode[16];
    std::snprintf(mode, sizeof mode, "%o ", st.st_mode);
    std::string content;
    if (e.is_symlink())
      content = fs::read_symlink(e.path());
    else if (e.is_regular_file())
      content = read_file(e.path());
    out[e.path().lexically_relative(top)] = mode + content;
  }
  return out;
}

const std::vector<std::string>& workspace::protected_files() {
  static const std::vector<std::string> out{".pi/settings.json",
                                            ".pi/mcp.json",
                                            ".pi/extensions/mine.ts",
                                            ".agents/skills/a/SKILL.md",
                                            ".bashrc",
                                            ".gitconfig",
                                            ".gitmodules",
                                            ".ripgreprc",
                                            ".mcp.json",
                                            ".vscode/tasks.json",
                                            ".idea/workspace.xml",
                                            ".claude/commands/go.md",
                                            ".env",
                                            ".env.production.local",
                                            "secrets/token",
                                            ".secrets/token",
                                            "app/.env.local",
                                            "app/tls/server.key",
                                            "app/tls/server.pem",
                                            "app/store/secrets/token",
                                            ".git/hooks/pre-commit",
                                            ".git/config.worktree",
                                            ".git/modules/lib/hooks/post-checkout"};
  return out;
}

const std::vector<std::string>& workspace::protected_directories() {
  static const std::vector<std::string> out{".pi/extensions",   ".agents/skills",
                                            ".vscode",          ".idea",
                                            ".claude/commands", "secrets",
                                            ".secrets",         "app/store/secrets",
                                            ".git/hooks",       ".git/modules/lib/hooks"};
  return out;
}

workspace::workspace()
    : home_(temp_.path() / "home"), project_(home_ / "project"), host_temp_(temp_.path() / "tmp") {
  fs::create_directories(project_);
  fs::create_directories(host_temp_);
  write_file(home_ / ".ssh/id_ed25519", "the private key");
  write_file(home_ / "notes.txt", "private notes");
  write_file(home_ / ".gitconfig", "[user]\n\tname = Test\n\temail = test@example.org\n"
                                   "[init]\n\tdefaultBranch = main\n");
  write_file(temp_.path() / "outside/file", "outside");
  host_output({"git", "init", "-q"});
  write_file(project_ / ".git/modules/lib/HEAD", "ref: refs/heads/main\n");
  fs::create_directories(project_ / ".git/modules/lib/objects");
  fs::create_directories(project_ / ".git/modules/lib/refs");
  for (const std::string& file : protected_files())
    write_file(project_ / file, "original " + file + "\n");
  write_file(project_ / "README.md", "hello\n");
  write_file(project_ / "src/main.c", "int main(void) { return 0; }\n");
  // A hook that would run on the host if anybody could write it; harmless as it is.
  write_file(project_ / ".git/hooks/pre-commit", "#!/bin/sh\nexit 0\n");
  write_file(project_ / ".git/config.worktree", "");
  write_file(project_ / ".git/modules/lib/config", "[core]\n\tbare = false\n");
  write_file(project_ / ".gitignore", "/.env*\n/secrets\n/.secrets\n");
  write_file(project_ / ".gitmodules", "");
  host_output({"git", "add", "README.md", "src", ".gitignore"});
  host_output({"git", "commit", "-qm", "first", "--no-verify"});
}

program workspace::host(std::vector<std::string> argv) const {
  program out;
  out.argv = std::move(argv);
  out.directory = project_;
  out.environment = {{"HOME", home_.string()},
                     {"TMPDIR", host_temp_.string()},
                     {"XDG_CONFIG_HOME", std::nullopt},
                     {"XDG_STATE_HOME", std::nullopt},
                     {"PI_CODING_AGENT_DIR", std::nullopt},
                     {"GIT_CONFIG_NOSYSTEM", "1"}};
  return out;
}

program workspace::interactive_shell() const {
  auto out = host({"bash", "--norc", "--noprofile", "-i"});
  out.environment["PS1"] = "host$ ";
  out.environment["TERM"] = "dumb";
  out.environment["P"] = piorch_program();
  out.environment["HISTFILE"] = std::nullopt;
  return out;
}

std::string workspace::host_output(std::vector<std::string> argv) const {
  const std::string name = argv[0];
  const finished done = run(host(std::move(argv)));
  if (done.status != 0)
    throw std::runtime_error(name + " failed: " + done.err);
  return done.out;
}

std::string piorch_program() {
  const char* installed = std::getenv("PIORCH_TEST_PROGRAM");
  return installed ? installed : PIORCH_BUILD_DIR "/bin/piorch";
}

program workspace::piorch(std::vector<std::string> words) const {
  words.insert(words.begin(), piorch_program());
  return host(std::move(words));
}

program workspace::exec(const std::string& script, std::vector<std::string> options) const {
  std::vector<std::string> words{"exec"};
  words.insert(words.end(), options.begin(), options.end());
  words.push_back("-c");
  words.push_back(script);
  return piorch(std::move(words));
}

std::string workspace::add_helper() const {
  fs::copy_file(PIORCH_BUILD_DIR "/bin/piorch-test-helper", project_ / "test-helper",
                fs::copy_options::overwrite_existing);
  return project_ / "test-helper";
}

void workspace::configure(const std::string& json) const {
  write_file(home_ / ".pi/agent/extensions/pi-sandbox/config.json", json);
}

} // namespace piorch::test
