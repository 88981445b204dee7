// What the program tells the shells' completion scripts, and real shells.
#include "tests/tools/cli.hpp"

#include <gmock/gmock.h>

namespace piorch::cli {
namespace {

using testing::AllOf;
using testing::Contains;
using testing::ElementsAre;
using testing::HasSubstr;
using testing::IsEmpty;
using testing::Not;

class CliCompletions : public Cli {
protected:
  // The candidates for the last of some shell words, without their descriptions.
  std::vector<std::string> after(const std::string& words) const {
    const auto r = run("completions --words -- " + words);
    EXPECT_EQ(r.status, 0) << r.err;
    std::vector<std::string> out;
    for (std::size_t at = 0; at < r.out.size();) {
      const auto end = std::min(r.out.find('\n', at), r.out.size());
      const auto line = r.out.substr(at, end - at);
      out.push_back(line.substr(0, line.find('\t')));
      at = end + 1;
    }
    return out;
  }
  // What `shell` prints for a script that finds the program as `piorch` and the
  // completion as $S.
  std::string in_shell(const std::string& shell, const std::string& file,
                       const std::string& script) const {
    std::ofstream(home.path() / "script") << script;
    const std::string line = "cd '" + home.path().string() +
                             "' && HOME=\"$PWD\" TERM=dumb PATH='" PIORCH_BUILD_DIR
                             "/bin':\"$PATH\" S='" +
                             PIORCH_SOURCE_DIR "/tools/completions/" + file + "' timeout 60 " +
                             shell + " script >out 2>&1 </dev/null";
    EXPECT_NE(std::system(line.c_str()), -1);
    return test::read_file(home.path() / "out");
  }
};

TEST_F(CliCompletions, CommandsAndTheirOtherNames) {
  EXPECT_THAT(after("''"), AllOf(Contains("exec"), Contains("ps"), Contains("completions")));
  EXPECT_THAT(after("ap"), ElementsAre("approvals", "approve"));
  EXPECT_THAT(after("help po"), ElementsAre("policy"));
  EXPECT_THAT(after("nonsense ''"), IsEmpty());
}

TEST_F(CliCompletions, EveryCommandsOptions) {
  for (const auto& command : after("''")) {
    const auto help = run("help " + command).out;
    for (const auto& option : after(command + " --"))
      EXPECT_THAT(help, HasSubstr(option)) << command;
    EXPECT_THAT(after(command + " --"), Contains("--help")) << command;
  }
  EXPECT_THAT(after("exec --a"),
              ElementsAre("--allow-read", "--allow-domain", "--allow-local-port", "--ask"));
}

TEST_F(CliCompletions, ValuesOfOptions) {
  EXPECT_THAT(after("policy --format ''"), ElementsAre("text", "json", "bwrap", "seatbelt"));
  EXPECT_THAT(after("policy --format=b"), ElementsAre("--format=bwrap"));
  EXPECT_THAT(after("policy --format = b"), ElementsAre("bwrap")) << "as bash divides it";
  EXPECT_THAT(after("policy --format ="), ElementsAre("text", "json", "bwrap", "seatbelt"));
  EXPECT_THAT(after("exec -C ''"), ElementsAre(":directories"));
  EXPECT_THAT(after("exec --report ''"), ElementsAre(":files"));
  EXPECT_THAT(after("start --timeout ''"), IsEmpty());
}

TEST_F(CliCompletions, WordsThatAreNoOptions) {
  EXPECT_THAT(after("config ''"), ElementsAre("path", "check", "show"));
  EXPECT_THAT(after("config path ''"), IsEmpty());
  EXPECT_THAT(after("why ''"), ElementsAre(":files"));
  EXPECT_THAT(after("result --format ''"), ElementsAre("text", "html"));
  EXPECT_THAT(after("completions ''"), ElementsAre("bash", "zsh", "fish"));
  EXPECT_THAT(after("exec -- ''"), ElementsAre(":program"));
  EXPECT_THAT(after("exec --timeout 3 -- ls ''"), ElementsAre(":program"));
  EXPECT_THAT(after("start task ''"), IsEmpty());
}

TEST_F(CliCompletions, NothingIsStartedOrMadeForIt) {
  EXPECT_THAT(after("stop ''"), IsEmpty());
  EXPECT_THAT(after("result ''"), IsEmpty());
  EXPECT_THAT(after("approve ''"), IsEmpty());
  for (const auto& e : std::filesystem::directory_iterator(home.path()))
    EXPECT_THAT(e.path().filename().string(), testing::AnyOf("out", "err"));
}

TEST_F(CliCompletions, WrongUse) {
  for (const char* words :
       {"completions", "completions ksh", "completions bash zsh", "completions --words ls"}) {
    const auto r = run(words);
    EXPECT_EQ(r.status, 2) << words;
    EXPECT_EQ(r.out, "");
  }
  EXPECT_THAT(run("completions ksh").err, HasSubstr("bash, zsh and fish"));
}

TEST_F(CliCompletions, ThePrintedScriptsAreTheInstalledOnes) {
  for (const char* shell : {"bash", "zsh", "fish"})
    EXPECT_EQ(run(std::string("completions ") + shell).out,
              test::read_file(PIORCH_SOURCE_DIR "/tools/completions/piorch." + std::string(shell)));
}

TEST_F(CliCompletions, InBash) {
  const auto out = in_shell("bash --norc", "piorch.bash", R"sh(
source "$S"
t() { COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _piorch 2>/dev/null; printf %s\\n "${COMPREPLY[@]}" | sort -u | xargs -d "\n"; }
mkdir -p "a directory"; touch "a file"
complete -p piorch
t piorch pol
t piorch policy --format = s
t piorch exec -C a
t piorch exec --report "a f"
t piorch exec -- printen
)sh");
  EXPECT_EQ(out, "complete -F _piorch piorch\npolicy\nseatbelt\na directory\na file\nprintenv\n");
}

TEST_F(CliCompletions, InFish) {
  if (std::system("command -v fish >/dev/null") != 0 && !std::getenv("PIORCH_MUST_WORK"))
    GTEST_SKIP() << "no fish here";
  const auto out = in_shell("fish --no-config", "piorch.fish", R"sh(
source $S
mkdir dir; touch file
complete -C 'piorch pol'
complete -C 'piorch policy --format s'
complete -C 'piorch policy --format=s'
complete -C 'piorch exec -C d'
complete -C 'piorch exec -- printen'
)sh");
  EXPECT_THAT(out, HasSubstr("policy\tthe effective sandbox policy"));
  EXPECT_THAT(out, HasSubstr("\nseatbelt"));
  EXPECT_THAT(out, HasSubstr("\n--format=seatbelt"));
  EXPECT_THAT(out, HasSubstr("\ndir/"));
  EXPECT_THAT(out, HasSubstr("\nprintenv"));
  EXPECT_THAT(out, Not(HasSubstr("\nfile")));
}

// zsh completes only at a terminal: zpty is one, and Tab is typed.
TEST_F(CliCompletions, InZsh) {
  if (std::system("command -v zsh >/dev/null") != 0 && !std::getenv("PIORCH_MUST_WORK"))
    GTEST_SKIP() << "no zsh here";
  const auto out = in_shell("zsh -f", "piorch.zsh", R"sh(
zmodload zsh/zpty
zpty z zsh -f -i
say() { zpty -w z "$1" }
until_seen() { local all line; while zpty -r z line; do all+=$line; [[ $all == *$1* ]] && break; done; print -r -- ${(V)all} }
say 'PS1="ready> "; autoload -U compinit; compinit -u -D; source "$S"; print lo""aded'
until_seen loaded
zpty -n -w z $'piorch pol\t; print s""een\n'
until_seen seen
zpty -n -w z $'print piorch policy --format=seat\t; print th""ere\n'
zpty -n -w z $'piorch policy --format=sea\t >/dev/null; print do""ne\n'
until_seen done
)sh");
  EXPECT_THAT(out, HasSubstr("piorch policy")) << out;
  EXPECT_THAT(out, HasSubstr("--format=seatbelt")) << out;
}

} // namespace
} // namespace piorch::cli
