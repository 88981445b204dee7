// The kernel's doors: capabilities, sysctls, IPC, keyrings, descriptors, other processes.
#include "tests/support/workspace.hpp"

#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <mqueue.h>
#include <sstream>
#include <sys/ipc.h>
#include <sys/msg.h>
#include <sys/shm.h>

namespace piorch::test {
namespace {

using testing::HasSubstr;

class E2eExecKernel : public testing::Test {
protected:
  std::string output(const std::string& script) const {
    const auto r = run(w.exec(script));
    EXPECT_EQ(r.status, 0) << r.err;
    return r.out;
  }

  workspace w;
};

TEST_F(E2eExecKernel, NoCapabilitiesAndNoNewPrivileges) {
  EXPECT_EQ(output("grep -E '^(Cap|NoNewPrivs|Seccomp:)' /proc/self/status"),
            "CapInh:\t0000000000000000\nCapPrm:\t0000000000000000\nCapEff:\t0000000000000000\n"
            "CapBnd:\t0000000000000000\nCapAmb:\t0000000000000000\nNoNewPrivs:\t1\nSeccomp:\t2\n");
}

TEST_F(E2eExecKernel, SettingsOfTheHostCannotBeOpenedForWriting) {
  // Opening alone: should it ever work, it changes nothing.
  EXPECT_EQ(output(R"sh(
    find /proc/sys /sys/kernel /sys/fs/cgroup -maxdepth 4 -type f 2>/dev/null | while read f; do
      { : >> $f; } 2>/dev/null && echo BROKEN $f; done
    for f in /proc/sysrq-trigger /proc/irq/default_smp_affinity \
             /proc/sys/kernel/core_pattern /proc/sys/kernel/hostname /proc/bus/pci/00/00.0; do
      { : >> $f; } 2>/dev/null && echo BROKEN $f; done
    mkdir /sys/fs/cgroup/x 2>/dev/null && echo BROKEN cgroup
    echo tried)sh"),
            "tried\n");
}

TEST_F(E2eExecKernel, InterprocessCommunicationOfTheHostIsOutOfReach) {
  const int memory = ::shmget(IPC_PRIVATE, 4096, IPC_CREAT | 0600);
  const int queue = ::msgget(IPC_PRIVATE, IPC_CREAT | 0600);
  ASSERT_GE(memory, 0);
  ASSERT_GE(queue, 0);
  const std::string name = "/" + w.top().filename().string();
  const mqd_t posix = ::mq_open(name.c_str(), O_CREAT | O_RDWR, 0600, nullptr);
  ASSERT_NE(posix, -1);
  w.add_helper();
  EXPECT_EQ(output("cat /proc/sysvipc/shm /proc/sysvipc/msg /proc/sysvipc/sem | grep -vc key; "
                   "./test-helper mq " +
                   name + "; true"),
            "0\nENOENT\n");
  ::mq_close(posix);
  ::mq_unlink(name.c_str());
  ::shmctl(memory, IPC_RMID, nullptr);
  ::msgctl(queue, IPC_RMID, nullptr);
}

TEST_F(E2eExecKernel, KeyringsAndNewUnixSocketsAreRefusedSocketPairsAreNot) {
  w.add_helper();
  EXPECT_EQ(output("./test-helper keyring; ./test-helper unix; ./test-helper unix-high; "
                   "./test-helper socketpair"),
            "EPERM\nEPERM\nEPERM\nok\n");
  EXPECT_EQ(output("cat /proc/keys /proc/key-users; true"), "");
}

TEST_F(E2eExecKernel, OnlyThreeDescriptorsAreInherited) {
  w.add_helper();
  program p = w.exec("exec ./test-helper fds");
  ipc::unique_fd secret(::open((w.home() / "notes.txt").c_str(), O_RDONLY));
  ipc::unique_fd high(::fcntl(secret.get(), F_DUPFD, 200));
  p.extra_fds = {secret.get(), high.get()};
  EXPECT_EQ(run(p).out, "0 1 2 ok\n");
}

TEST_F(E2eExecKernel, OnlyProcessesOfTheSandboxAreSeenAndPid1CannotBeTouched) {
  w.add_helper();
  EXPECT_EQ(output("cat /proc/1/comm; ./test-helper ptrace 1; ./test-helper vm-read 1; "
                   "kill -KILL 1; echo alive; readlink /proc/1/fd/* /proc/1/exe /proc/1/cwd; "
                   "cat /proc/1/environ /proc/1/maps /proc/1/fd/* 2>/dev/null; "
                   "ls -d /proc/[0-9]* | wc -l | { read n; test $n -lt 8 && echo few; }"),
            "piorch-init\nEPERM\nEPERM\nalive\nfew\n");
}

TEST_F(E2eExecKernel, NamespacesAreItsOwn) {
  std::istringstream outside(w.host_output(
      {"sh", "-c",
       "for n in user mnt pid net ipc uts cgroup; do readlink /proc/self/ns/$n; done"}));
  std::istringstream inside(
      output("for n in user mnt pid net ipc uts cgroup; do readlink /proc/self/ns/$n; done"));
  int count = 0;
  for (std::string a, b; std::getline(outside, a) && std::getline(inside, b); ++count)
    EXPECT_NE(a, b);
  EXPECT_EQ(count, 7);
}

TEST_F(E2eExecKernel, TheNetworkIsClosed) {
  const auto r = run(w.exec("cut -d: -f1 -s /proc/net/dev; "
                            "exec 3<>/dev/tcp/192.0.2.1/80"));
  EXPECT_NE(r.status, 0);
  EXPECT_EQ(r.out, "    lo\n");
  EXPECT_THAT(r.err, HasSubstr("Network is unreachable"));
}

} // namespace
} // namespace piorch::test
