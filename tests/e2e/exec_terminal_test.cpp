// A terminal stays a terminal.
#include "tests/support/terminal.hpp"
#include "tests/support/workspace.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace piorch::test {
namespace {

using testing::HasSubstr;

class E2eExecTerminal : public testing::Test {
protected:
  workspace w;
};

TEST_F(E2eExecTerminal, TheCommandHasIt) {
  terminal t(
      w.exec("test -t 0 -a -t 1 -a -t 2 && stty size && test \"$(ps -o tpgid= -p $$)\" -eq $$ && "
             "echo mine; read line </dev/tty; echo \"got $line\""),
      31, 97);
  EXPECT_TRUE(t.sees("31 97")) << t.screen();
  EXPECT_TRUE(t.sees("mine")) << t.screen();
  t.type("typed\n");
  EXPECT_TRUE(t.sees("got typed")) << t.screen();
  EXPECT_EQ(t.end(), 0);
}

// What asks for a password or a passphrase opens it for both.
TEST_F(E2eExecTerminal, TheCommandOpensItByItsName) {
  terminal t(
      w.exec("echo 1''st > /dev/tty; echo 2''nd >> /dev/tty; exec 3<> /dev/tty; echo ask''s >&3; "
             "read line <&3; echo \"got $line\" >&3; "
             "printf 'protocol=https\\nhost=www.example.org\\n' | "
             "git -c credential.helper= credential fill"));
  EXPECT_TRUE(t.sees("1st")) << t.screen();
  EXPECT_TRUE(t.sees("2nd")) << t.screen();
  ASSERT_TRUE(t.sees("asks")) << t.screen();
  t.type("typed\n");
  EXPECT_TRUE(t.sees("got typed")) << t.screen();
  ASSERT_TRUE(t.sees("Username for 'https://www.example.org'")) << t.screen();
  t.type("me\n");
  ASSERT_TRUE(t.sees("Password for 'https://me@www.example.org'")) << t.screen();
  t.type("secret\n");
  EXPECT_TRUE(t.sees("password=secret")) << t.screen();
  EXPECT_EQ(t.end(), 0) << t.screen();
}

// The sandbox counts its own from 0 again, and one of them gets the number of that outside.
TEST_F(E2eExecTerminal, ByItsNameNoOtherOfTheSameNumberIsMeant) {
  write_file(w.project() / "own.py", R"(
import os, pty, subprocess
pairs = [pty.openpty() for _ in range(64)]
for m, _ in pairs:
    os.set_blocking(m, False)
os.system('echo from the command >/dev/tty')
def said(m):
    try:
        return os.read(m, 1000)
    except BlockingIOError:
        return b''
print('others say', b''.join(said(m) for m, _ in pairs))
m, s = pairs[63]
subprocess.run(['setsid', '-c', 'sh', '-c', 'echo own >/dev/tty'], stdin=s, stdout=s, stderr=s)
print('own says', said(m))
)");
  terminal t(w.exec("python3 own.py"));
  EXPECT_TRUE(t.sees("from the command")) << t.screen();
  EXPECT_TRUE(t.sees("others say b''")) << t.screen();
  EXPECT_TRUE(t.sees("own says b'own")) << t.screen();
  EXPECT_EQ(t.end(), 0) << t.screen();
}

TEST_F(E2eExecTerminal, ControlCEndsTheCommandAndNotTheShell) {
  terminal t(w.interactive_shell());
  ASSERT_TRUE(t.sees("host$ "));
  t.type("$P exec -c 'echo REA''DY; sleep 1000'; echo \"sta\"tus=$?\n");
  ASSERT_TRUE(t.sees("READY")) << t.screen();
  t.type("\x03");
  ASSERT_TRUE(t.sees("host$ ")) << t.screen();
  t.type("$P exec -c 'trap \"echo caught; exit 9\" INT; echo REA''DY; while :; do read -t 1 x; "
         "done'; echo "
         "\"sta\"tus=$?\n");
  ASSERT_TRUE(t.sees("READY")) << t.screen();
  t.type("\x03");
  EXPECT_TRUE(t.sees("caught")) << t.screen();
  EXPECT_TRUE(t.sees("status=9")) << t.screen();
  t.type("exit\n");
  EXPECT_EQ(t.end(), 0) << t.screen();
}

TEST_F(E2eExecTerminal, ControlCEndsAScriptAsItWouldWithoutASandbox) {
  write_file(w.project() / "script", "$P exec -c 'echo REA''DY; sleep 1000'\necho 'still'here\n");
  terminal t(w.interactive_shell());
  t.type("bash script; echo \"sta\"tus=$?\n");
  ASSERT_TRUE(t.sees("READY")) << t.screen();
  t.type("\x03");
  ASSERT_TRUE(t.sees("host$ ")) << t.screen();
  EXPECT_EQ(t.screen().find("stillhere"), std::string::npos) << t.screen();
  t.type("exit 0\n");
  EXPECT_EQ(t.end(), 0);
}

TEST_F(E2eExecTerminal, ANewWindowSizeReachesTheCommand) {
  // In steps: bash can be on its way into read when the signal comes.
  terminal t(w.exec("trap 'stty size; exit' WINCH; echo READY; while :; do read -t 1 x; done"));
  ASSERT_TRUE(t.sees("READY")) << t.screen();
  t.resize(40, 123);
  EXPECT_TRUE(t.sees("40 123")) << t.screen();
  EXPECT_EQ(t.end(), 0);
}

TEST_F(E2eExecTerminal, AnInteractiveShellInsideHasJobControl) {
  program p =
      w.piorch({"exec", "--env", "PS1=inner$ ", "--", "bash", "--norc", "--noprofile", "-i"});
  p.environment["TERM"] = "dumb";
  terminal t(p);
  ASSERT_TRUE(t.sees("inner$ ")) << t.screen();
  EXPECT_EQ(t.screen().find("no job control"), std::string::npos) << t.screen();
  t.type("sh -c 'echo RUN''NING; while read x; do echo \"got\" $x; done'\n");
  ASSERT_TRUE(t.sees("RUNNING")) << t.screen();
  t.type("\x1a");
  ASSERT_TRUE(t.sees("Stopped")) << t.screen();
  ASSERT_TRUE(t.sees("inner$ ")) << t.screen();
  t.type("fg\n");
  ASSERT_TRUE(t.sees("done'")) << t.screen();
  t.type("line\n");
  ASSERT_TRUE(t.sees("got line")) << t.screen();
  t.type("\x03");
  EXPECT_TRUE(t.sees("inner$ ")) << t.screen();
  t.type("echo \"sta\"tus=$?; exit 4\n");
  EXPECT_TRUE(t.sees("status=130")) << t.screen();
  EXPECT_EQ(t.end(), 4) << t.screen();
}

TEST_F(E2eExecTerminal, StopAndContinueFromTheShellOutside) {
  terminal t(w.interactive_shell());
  ASSERT_TRUE(t.sees("host$ "));
  t.type("$P exec -c 'while read x; do echo \"got\" $x; test $x != end || exit 6; done'\n");
  t.type("one\n");
  ASSERT_TRUE(t.sees("got one")) << t.screen();
  t.type("\x1a");
  ASSERT_TRUE(t.sees("Stopped")) << t.screen();
  ASSERT_TRUE(t.sees("host$ "));
  t.type("fg\n");
  ASSERT_TRUE(t.sees("exec -c")) << t.screen();
  t.type("two\n");
  ASSERT_TRUE(t.sees("got two")) << t.screen();
  t.type("\x1a");
  ASSERT_TRUE(t.sees("Stopped")) << t.screen();
  t.type("fg\n");
  ASSERT_TRUE(t.sees("exec -c")) << t.screen();
  t.type("end\n");
  ASSERT_TRUE(t.sees("got end")) << t.screen();
  ASSERT_TRUE(t.sees("host$ ")) << t.screen();
  t.type("echo \"sta\"tus=$?; exit 0\n");
  EXPECT_TRUE(t.sees("status=6")) << t.screen();
  EXPECT_EQ(t.end(), 0);
}

TEST_F(E2eExecTerminal, ControlZAtAQuestionStopsTheJobAndItIsAskedAgainInFront) {
  constexpr const char* anything_else = "Anything else is no: ";
  w.configure(R"({"hostIPC": {"mode": "ask", "preflightCommandPrefixes": ["sh -c"]}})");
  terminal t(w.interactive_shell());
  t.type("$P exec -- sh -c 'echo 'on'host'; echo \"sta\"tus=$?\n");
  ASSERT_TRUE(t.sees(anything_else)) << t.screen();
  t.type("on the\x1a");
  ASSERT_TRUE(t.sees("Stopped")) << t.screen();
  ASSERT_TRUE(t.sees("host$ ")) << t.screen();
  // In the background it stops again at once.
  t.type("bg; until [ \"$(jobs -s)\" ]; do :; done; echo ag\"\"ain\n");
  ASSERT_TRUE(t.sees("again")) << t.screen();
  t.type("fg\n");
  ASSERT_TRUE(t.sees("ON THE HOST")) << t.screen();
  ASSERT_TRUE(t.sees(anything_else)) << t.screen();
  t.type("on the host\n"); // what was typed before does not count
  EXPECT_TRUE(t.sees("onhost")) << t.screen();
  ASSERT_TRUE(t.sees("host$ ")) << t.screen();

  t.type("$P exec -- sh -c 'echo br\"\"oken'\n");
  ASSERT_TRUE(t.sees(anything_else)) << t.screen();
  t.type("\x1a");
  ASSERT_TRUE(t.sees("Stopped")) << t.screen();
  t.type("kill %1\n");
  EXPECT_TRUE(t.sees("not run: it would run on the host")) << t.screen();
  t.type("while kill -0 %1 2>/dev/null; do :; done; exit 0\n"); // the terminal is the shell's
  EXPECT_EQ(t.end(), 0) << t.screen();
  EXPECT_THAT(t.screen(), testing::Not(HasSubstr("broken")));
}

TEST_F(E2eExecTerminal, NothingCanBeTypedIntoIt) {
  w.add_helper();
  terminal t(w.exec("./test-helper tiocsti; ./test-helper tiocsti-high"));
  EXPECT_TRUE(t.sees("EPERM")) << t.screen();
  EXPECT_TRUE(t.sees("EPERM")) << t.screen();
  EXPECT_EQ(t.end(), 0);
}

TEST_F(E2eExecTerminal, TheTerminalIsTheCallersAgainAfterwards) {
  terminal t(w.interactive_shell());
  t.type("$P exec -- true; read -p 'ask: ' x; echo \"got\" $x; exit 0\n");
  ASSERT_TRUE(t.sees("ask: ")) << t.screen();
  t.type("answer\n");
  EXPECT_TRUE(t.sees("got answer")) << t.screen();
  EXPECT_EQ(t.end(), 0);
}

TEST_F(E2eExecTerminal, ItsSettingsAreTheCallersAgainAfterwards) {
  terminal t(w.host({"sh", "-c",
                     "a=$(stty -g); '" + piorch_program() +
                         "' exec -c 'stty raw -echo kill x'; "
                         "test \"$a\" = \"$(stty -g)\" && echo same || stty sane"}));
  EXPECT_TRUE(t.sees("same")) << t.screen();
}

TEST_F(E2eExecTerminal, AnEditorDraws) {
  write_file(w.project() / "text", "first line\n");
  program p = w.piorch({"exec", "--", "vi", "text"});
  p.environment["TERM"] = "xterm";
  if (run(w.host({"sh", "-c", "command -v vi"})).status != 0) {
    if (std::getenv("PIORCH_MUST_WORK"))
      FAIL() << "vi is not installed";
    GTEST_SKIP() << "vi is not installed";
  }
  terminal t(p);
  ASSERT_TRUE(t.sees("first line")) << t.screen();
  t.type("oadded\x1b:wq\n");
  EXPECT_EQ(t.end(), 0) << t.screen();
  EXPECT_EQ(read_file(w.project() / "text"), "first line\nadded\n");
}

// Without a terminal: the caller's process group is out of reach.
TEST_F(E2eExecTerminal, AGroupSignalStaysInside) {
  const auto r =
      run(w.host({"sh", "-c", "'" + piorch_program() + "' exec -c 'kill -KILL 0'; echo alive $?"}));
  EXPECT_EQ(r.out, "alive 137\n") << r.err;
}

} // namespace
} // namespace piorch::test
