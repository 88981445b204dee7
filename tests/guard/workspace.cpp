#include "tests/guard/workspace.hpp"
#include "tests/support/read_file.hpp"

#include <cstdio>
#include <cstdlib>
#include <fcntl.h>
#include <fstream>
#include <gtest/gtest.h>
#include <poll.h>
#include <sstream>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

namespace piorch::test {

namespace fs = std::filesystem;

namespace {

constexpr std::size_t most_that_is_kept = 64u << 20; // of what a race of minutes prints

bool is_name(const fs::path& p) {
  struct stat s {};
  return ::lstat(p.c_str(), &s) == 0;
}

// The host's repository, made once for all tests of a program.
const fs::path& repository() {
  static const fs::path made = [] {
    char name[] = "/var/tmp/piorch-guard-repo-XXXXXX";
    const fs::path at = ::mkdtemp(name);
    const std::string in = "cd " + at.string() +
                           " && git init -q . && git -c user.name=n -c user.email=e@example.org "
                           "commit -q --allow-empty -m first";
    if (std::system(in.c_str()) != 0)
      std::abort();
    static const struct remover {
      fs::path path;
      ~remover() { fs::remove_all(path); }
    } at_exit{at};
    return at;
  }();
  return made;
}

} // namespace

std::string bin(const std::string& program) {
  return std::string(PIORCH_BUILD_DIR "/bin/") + program;
}

workspace::workspace(bool with_repository) {
  char name[] = "/var/tmp/piorch-guard-XXXXXX";
  path_ = ::mkdtemp(name);
  fs::create_directory(path_ / "sub");
  fs::create_directory(path_ / "sub2");
  fs::create_directory(path_ / "own");
  fs::create_directory(path_ / "real");
  fs::create_directory_symlink("real", path_ / "way");
  fs::create_symlink("nowhere", path_ / "dangling");
  fs::create_directories(path_ / ".pi-subagents/artifacts");
  std::ofstream(path_ / "plain.txt") << "x";
  if (with_repository)
    fs::copy(repository(), path_ / "repo", fs::copy_options::recursive);
  for (const char* directory : {"linked/.hk", "linked/.husky/_"})
    fs::create_directories(path_ / directory);
  for (const char* file : {"linked/.hk/pre-commit", "linked/.husky/_/h"})
    std::ofstream(path_ / file) << "the host's\n";
  std::ofstream(path_ / "linked/.git")
      << "gitdir: " << (path_ / "repo/.git/worktrees/l").string() << '\n';
  host_ = std::make_unique<watched_tree>(path_);
}

workspace::~workspace() {
  std::error_code ignored;
  fs::remove_all(path_, ignored);
}

workspace::outcome workspace::run(const std::vector<std::string>& command, guard g,
                                  int input) const {
  const std::string ws = path_.string(), program = bin("guard-run");
  std::vector<std::string> all = {"bwrap",
                                  "--unshare-user",
                                  "--unshare-pid",
                                  "--unshare-ipc",
                                  "--cap-drop",
                                  "ALL",
                                  "--cap-add",
                                  "CAP_SYS_PTRACE",
                                  "--die-with-parent",
                                  "--as-pid-1",
                                  "--ro-bind",
                                  "/",
                                  "/",
                                  "--dev",
                                  "/dev",
                                  "--proc",
                                  "/proc",
                                  "--tmpfs",
                                  "/tmp",
                                  "--bind",
                                  ws,
                                  ws,
                                  "--tmpfs",
                                  ws + "/own",
                                  "--chdir",
                                  ws,
                                  "--ro-bind",
                                  program,
                                  "/tmp/guard-run",
                                  "--ro-bind",
                                  bin("guard-villain"),
                                  "/tmp/guard-villain",
                                  "--",
                                  "/tmp/guard-run"};
  if (g == guard::off)
    all.push_back("--off");
  if (g == guard::interruptible)
    all.push_back("--older-kernel");
  if (g == guard::no_nameless_files)
    all.push_back("--no-nameless-files");
  for (const char* name : {"/.env", "/.pi/settings.json", "/way/x.conf", "/.vscode"}) {
    all.push_back("--absent");
    all.push_back(ws + name);
  }
  for (const char* name : {"/.hk", "/.husky/_"}) {
    all.push_back("--in-linked-trees");
    all.push_back(ws + name);
  }
  all.insert(all.end(), {"--in-trees", ws + "/all/hooks", "--directory", ws + "/.git", "--plain",
                         ws + "/.pi-subagents", "--refusals", "3", "--"});
  all.insert(all.end(), command.begin(), command.end());
  std::vector<char*> arguments;
  for (auto& a : all)
    arguments.push_back(a.data());
  arguments.push_back(nullptr);

  int output[2], refusals[2];
  if (::pipe2(output, O_CLOEXEC) != 0 || ::pipe2(refusals, O_CLOEXEC) != 0)
    std::abort();
  outcome result;
  const pid_t pid = ::fork();
  if (pid == 0) {
    ::dup2(input >= 0 ? input : ::open("/dev/null", O_RDONLY), 0);
    ::dup2(output[1], 1);
    ::dup2(output[1], 2);
    const int high = ::fcntl(refusals[1], F_DUPFD, 10);
    ::dup2(high, 3);
    ::fcntl(3, F_SETFD, 0);
    ::close_range(4, ~0u, 0);
    ::setenv("GIT_CONFIG_NOSYSTEM", "1", 1);
    ::setenv("HOME", "/tmp", 1);
    ::execvp("bwrap", arguments.data());
    ::_exit(125);
  }
  ::close(output[1]);
  ::close(refusals[1]);
  pollfd wait[2] = {{output[0], POLLIN, 0}, {refusals[0], POLLIN, 0}};
  while (wait[0].fd >= 0 || wait[1].fd >= 0) {
    ::poll(wait, 2, -1);
    for (auto& w : wait) {
      if (w.fd < 0 || !w.revents)
        continue;
      char buffer[4096];
      const auto n = ::read(w.fd, buffer, sizeof buffer);
      auto& into = &w == &wait[0] ? result.output : result.refusals;
      if (n <= 0)
        w.fd = -1;
      else if (into.size() < most_that_is_kept)
        into.append(buffer, static_cast<std::size_t>(n));
    }
  }
  ::close(output[0]);
  ::close(refusals[0]);
  int status = 0;
  ::waitpid(pid, &status, 0);
  result.status = WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
  return result;
}

workspace::outcome workspace::shell(const std::string& script, guard g, int input) const {
  return run({"/bin/bash", "-c", script}, g, input);
}

const std::set<std::string>& workspace::seen() const {
  seen_.merge(host_->names());
  return seen_;
}

std::string workspace::planted() const {
  std::string out;
  const auto found = [&](const fs::path& what) { out += what.string() + "\n"; };
  struct stat s {};
  if (is_name(path_ / ".env"))
    found(".env");
  if (is_name(path_ / ".pi/settings.json"))
    found(".pi/settings.json");
  if (is_name(path_ / "real/x.conf") || is_name(path_ / "way/x.conf"))
    found("way/x.conf");
  if (::lstat((path_ / ".git").c_str(), &s) == 0 && !S_ISDIR(s.st_mode))
    found(".git is no directory");
  if (is_name(path_ / "planted"))
    found("Git ran a program");

  const auto must_be_plain = [&](const fs::path& p) {
    struct stat it {};
    if (::lstat(p.c_str(), &it) == 0 && !S_ISDIR(it.st_mode) && !S_ISREG(it.st_mode))
      found(p);
  };
  must_be_plain(path_ / ".pi-subagents");
  if (fs::is_directory(fs::symlink_status(path_ / ".pi-subagents")))
    for (const auto& e : fs::recursive_directory_iterator(path_ / ".pi-subagents"))
      must_be_plain(e.path());
  for (const char* name : {".env", ".pi/settings.json", "real/x.conf", ".vscode"})
    if (seen().count(name) != 0)
      found(std::string(name) + " was there");

  const auto judge = [&](const fs::path& d) {
    if (is_name(d / "commondir") && test::read_file(d / "commondir") != "../..\n")
      found(d / "commondir");
    if (test::read_file(d / "config.worktree").find("planted") != std::string::npos)
      found(d / "config.worktree");
    if (fs::is_symlink(d / ".git"))
      found(d / ".git is a link");
    const auto is_there = [](const fs::path& p) {
      return fs::symlink_status(p).type() != fs::file_type::not_found;
    };
    if (is_there(d / ".git")) {
      const bool linked = !fs::is_directory(fs::symlink_status(d / ".git")),
                 host = d == path_ / "linked";
      for (const char* program : {"all/hooks", ".hk", ".husky/_"})
        if (!host && fs::exists(d / program) && (linked || program[0] == 'a'))
          found(d / program);
      for (const char* file : {".hk/pre-commit", ".hk/post-checkout", ".husky/pre-commit"})
        if (host && test::read_file(d / file).find("planted") != std::string::npos)
          found(d / file);
    }
    if (is_name(d / "objects") && is_name(d / "refs") && fs::exists(d / "all/hooks"))
      found(d / "all/hooks");
    if (d.filename() != ".git" && !is_there(d / "commondir") &&
        (!is_name(d / "objects") || !is_name(d / "refs")))
      return;
    for (const auto& e :
         fs::recursive_directory_iterator(d, fs::directory_options::skip_permission_denied)) {
      auto inside = e.path().lexically_relative(d).string();
      if (inside.rfind("worktrees/", 0) == 0)
        inside.erase(0, inside.find('/', 10) + 1);
      if (e.is_regular_file() && e.path().extension() != ".lock" &&
          (inside == "index" || inside.rfind("sharedindex.", 0) == 0 || inside == "HEAD" ||
           inside == "BISECT_EXPECTED_REV" || inside.rfind("refs/", 0) == 0) &&
          test::read_file(e.path()).find("/planted") != std::string::npos)
        found(e.path());
      if (e.is_regular_file() && ((inside == "MERGE_RR" && e.file_size() != 0) ||
                                  (inside.rfind("rr-cache/", 0) == 0 &&
                                   e.path().filename().string().rfind("postimage", 0) == 0)))
        found(e.path());
      if (e.is_symlink()
              ? fs::read_symlink(e.path()) != "testing" || e.path().filename().string()[0] != 't' ||
                    e.path().filename().string().size() != 7
              : !e.is_regular_file() && !e.is_directory())
        found(e.path());
    }
    for (const char* old : {"remotes", "branches"})
      if (fs::is_directory(d / old) && !fs::is_empty(d / old))
        found(d / old);
    const std::string config = test::read_file(d / "config");
    for (const char* word : {"fsmonitor", "hooksPath", "include", "ext:", "foo:", "alias", "filter",
                             "promisor", "artial", "sign", "Sign", "shared"})
      if (config.find(word) != std::string::npos)
        found((d / "config").string() + " has " + word);
    if (d.filename() == ".git" && config.find("bare = true") != std::string::npos)
      found((d / "config").string() + " is bare");
    if (d.string().find("/.git/modules/") != std::string::npos &&
        config.find("worktree = ") != std::string::npos)
      found((d / "config").string() + " has a work tree");
    if (fs::is_symlink(d / "hooks"))
      found(d / "hooks is a link");
    else if (fs::is_directory(d / "hooks"))
      for (const auto& e : fs::directory_iterator(d / "hooks"))
        if (e.path().extension() != ".sample")
          found(e.path());
  };
  // A `.git` file: to where it leads now, and from where Git reads it.
  const auto judge_git_file = [&](const fs::path& file) {
    const std::string text = test::read_file(file);
    if (text.empty())
      return;
    std::error_code none;
    const std::string key = "gitdir: ";
    const auto target = fs::weakly_canonical(
        file.parent_path() / text.substr(std::min(key.size(), text.size()),
                                         text.find('\n') - std::min(key.size(), text.size())),
        none);
    const auto from_here = target.lexically_relative(fs::canonical(path_)).string();
    if (text.rfind(key, 0) != 0 || text.find('\0') != text.npos || text.size() > 4200 ||
        text.find('\n') + 1 != text.size() || from_here.rfind("..", 0) == 0)
      found(file.string() + " leads to " + target.string());
  };
  judge(path_);
  std::error_code error;
  for (fs::recursive_directory_iterator
           at(path_, fs::directory_options::skip_permission_denied, error),
       end;
       at != end; at.increment(error)) {
    const auto name = at->path().filename();
    if ((name == ".gitignore" || name == ".mailmap") && at->is_fifo(error))
      found(at->path());
    if (name == ".git" && at->is_regular_file(error) && !at->is_symlink(error))
      judge_git_file(at->path());
    if (at->is_directory(error) && !at->is_symlink(error)) {
      // An attack may have closed it.
      fs::permissions(at->path(), fs::perms::owner_all, fs::perm_options::add, error);
      judge(at->path());
    }
  }
  return out;
}

} // namespace piorch::test
