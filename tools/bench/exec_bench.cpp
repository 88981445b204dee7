// What `piorch exec` costs beside bare bubblewrap with the same mounts and
// beside srt: start-up, memory while a command runs, work inside.
//   exec_bench [ROUNDS] [SRT]   SRT: the path of srt's executable, if there is one
#include "tools/bench/measure.hpp"

#include "sandbox/bwrap_args.hpp"
#include "sandbox/files.hpp"
#include "sandbox/plan.hpp"
#include "sandbox/scratch.hpp"
#include "sandbox/survey.hpp"

#include <csignal>
#include <dirent.h>
#include <fstream>
#include <map>
#include <sstream>
#include <sys/stat.h>

using namespace piorch;

namespace {

const std::string piorch_program = PIORCH_BUILD_DIR "/bin/piorch";

// A project with the protected files that many have.
std::string make_project(const std::string& base) {
  const std::string dir = base + "/project";
  bench::run({"git", "init", "-q", dir}, base);
  for (const char* sub : {"/.vscode", "/.pi", "/.pi/extensions", "/src", "/app"})
    ::mkdir((dir + sub).c_str(), 0755);
  for (const char* file : {"/.env", "/.env.local", "/.pi/settings.json", "/app/.env",
                           "/.gitmodules", "/.mcp.json", "/src/server.key"})
    std::ofstream(dir + file) << "x\n";
  std::ofstream source(dir + "/src/main.cpp");
  source
      << "#include <map>\n#include <regex>\n#include <string>\n#include <iostream>\n"
         "int main() { std::map<std::string, std::regex> m; m.emplace(\"a\", std::regex(\"a+\"));\n"
         "std::cout << m.size(); }\n";
  return dir;
}

std::vector<std::string> split(const std::string& shell_text) {
  std::vector<std::string> out;
  std::istringstream words(shell_text);
  for (std::string word; words >> word;)
    if (word != "\\")
      out.push_back(word);
  return out;
}

// The same walls by bubblewrap alone.
std::vector<std::string> bare(const std::string& project, const std::string& scratch,
                              const std::vector<std::string>& command) {
  sandbox::policy_inputs from;
  from.workspace = project;
  from.homes = {sandbox::canonical(std::getenv("HOME")).value()};
  from.temp_dir = "/tmp";
  from.agent_dir = from.homes[0] + "/.pi/agent";
  from.libexec_dir = PIORCH_BUILD_DIR "/libexec/piorch";
  from.program = piorch_program;
  from.search_path = std::getenv("PATH");
  auto p = sandbox::make_policy({}, from);
  if (!p) {
    std::fprintf(stderr, "%s\n", p.failed().text.c_str());
    std::exit(1);
  }
  if (!sandbox::survey_workspace(*p, from))
    std::exit(1);
  std::vector<std::string> words =
      split(sandbox::bwrap_text(sandbox::make_plan(*p, scratch), project));
  words.pop_back(); // COMMAND
  words.insert(words.end(), command.begin(), command.end());
  return words;
}

std::vector<std::string> under_piorch(const std::vector<std::string>& command) {
  std::vector<std::string> out{piorch_program, "exec", "--"};
  out.insert(out.end(), command.begin(), command.end());
  return out;
}

// The proportional set size of a process, KiB.
long pss(pid_t pid) {
  std::ifstream in("/proc/" + std::to_string(pid) + "/smaps_rollup");
  for (std::string line; std::getline(in, line);)
    if (line.compare(0, 4, "Pss:") == 0)
      return std::atol(line.c_str() + 4);
  return 0;
}

std::map<pid_t, std::pair<pid_t, std::string>> processes() {
  std::map<pid_t, std::pair<pid_t, std::string>> out;
  DIR* d = ::opendir("/proc");
  while (const dirent* e = ::readdir(d))
    if (const pid_t pid = static_cast<pid_t>(std::atol(e->d_name)); pid > 0) {
      std::ifstream in("/proc/" + std::string(e->d_name) + "/stat");
      std::string text;
      std::getline(in, text);
      const auto close = text.rfind(')');
      if (close == std::string::npos)
        continue;
      std::istringstream rest(text.substr(close + 2));
      char state;
      pid_t parent = 0;
      rest >> state >> parent;
      out[pid] = {parent, text.substr(text.find('(') + 1, close - text.find('(') - 1)};
    }
  ::closedir(d);
  return out;
}

// Starts `piorch exec -- sh -c 'echo; read'` and adds up what is not the command.
void memory(const std::string& project) {
  int out[2], in[2];
  if (::pipe2(out, O_CLOEXEC) != 0 || ::pipe2(in, O_CLOEXEC) != 0)
    std::exit(1);
  const pid_t top = ::fork();
  if (top == 0) {
    ::dup2(in[0], 0);
    ::dup2(out[1], 1);
    if (::chdir(project.c_str()) == 0)
      ::execl(piorch_program.c_str(), "piorch", "exec", "--", "sh", "-c",
              "echo; sleep 1; echo; read x", nullptr);
    ::_exit(1);
  }
  ::close(out[1]);
  char byte;
  for (int line = 0; line < 2; ++line) // the second line: everything has settled
    if (::read(out[0], &byte, 1) != 1)
      std::exit(1);
  long sum = 0;
  int count = 0;
  std::vector<pid_t> tree{top};
  const auto all = processes();
  for (std::size_t i = 0; i < tree.size(); ++i)
    for (const auto& [pid, about] : all)
      if (about.first == tree[i])
        tree.push_back(pid);
  std::printf("Memory that piorch adds to a running command (proportional set size)\n");
  for (const pid_t pid : tree) {
    const std::string name = all.count(pid) ? all.at(pid).second : "?";
    if (name == "sh" || name == "sleep")
      continue;
    std::printf("%-44s %10ld KiB\n", name.c_str(), pss(pid));
    sum += pss(pid);
    ++count;
  }
  std::printf("%-44s %10ld KiB in %d processes\n\n", "sum", sum, count);
  ::close(in[1]);
  ::waitpid(top, nullptr, 0);
}

} // namespace

int main(int argc, char** argv) {
  const int rounds = argc > 1 ? std::atoi(argv[1]) : 41;
  auto base = sandbox::scratch::make("/tmp");
  auto private_dir = sandbox::scratch::make("/tmp");
  if (!base || !private_dir)
    return 1;
  const std::string project = make_project(base->path());
  const auto in_project = [&project](const std::vector<std::string>& words) {
    return [words, &project] { bench::run(words, project); };
  };

  std::vector<bench::way> start{
      {"plain spawn", in_project({"true"})},
      {"bubblewrap, same mounts", in_project(bare(project, private_dir->path(), {"true"}))},
      {"piorch exec -- true", in_project(under_piorch({"true"}))}};
  if (argc > 2)
    start.push_back({"srt -c true", in_project({argv[2], "-c", "true"}), 3});
  bench::compare("Start-up", start, rounds, 1);
  std::printf("\n");
  memory(project);

  const int work_rounds = std::max(5, rounds / 4);
  const std::vector<std::string> compile{"g++", "-O1", "-c", "-o", "/dev/null", "src/main.cpp"};
  std::vector<bench::way> compiling{{"outside", in_project(compile)},
                                    {"piorch exec", in_project(under_piorch(compile))}};
  bench::compare("A compile (includes start-up)", compiling, work_rounds, 0);
  // Long enough that the start, which has a table of its own, does not decide.
  const std::vector<std::string> reading{
      "sh", "-c",
      "for i in 1 2 3; do find /usr/include /usr/share/doc -type f | head -20000 | xargs cat | "
      "md5sum; done"};
  std::vector<bench::way> readers{{"outside", in_project(reading)},
                                  {"piorch exec", in_project(under_piorch(reading))}};
  bench::compare("Reading 20 000 files three times (includes start-up)", readers,
                 std::max(25, work_rounds), 0);
}
