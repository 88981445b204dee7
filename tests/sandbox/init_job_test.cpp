// The job as the broker writes it and piorch-init reads it; and what is no job.
#include "sandbox/init_job.hpp"

#include "tests/support/temp_dir.hpp"
#include "tools/piorch-init/job.hpp"

#include <cstring>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace piorch::sandbox {
namespace {

using testing::ElementsAre;

const std::vector<sock_filter> filter{{0x06, 0, 0, 0x7fff0000}};

bool reads(const std::string& bytes) {
  const ipc::unique_fd fd(::memfd_create("job", MFD_CLOEXEC));
  EXPECT_EQ(::write(fd.get(), bytes.data(), bytes.size()), static_cast<ssize_t>(bytes.size()));
  piorch::init::job out;
  return piorch::init::read_job(fd.get(), out);
}

std::string record(init::tag what, std::string content, std::uint32_t bytes) {
  const init::record_head head{what, bytes};
  std::string out(reinterpret_cast<const char*>(&head), sizeof head);
  out += content;
  out.append((8 - content.size() % 8) % 8, '\0');
  return out;
}
std::string record(init::tag what, const std::string& content) {
  return record(what, content, static_cast<std::uint32_t>(content.size()));
}
std::string text(init::tag what, const std::string& content) {
  return record(what, content + std::string(1, '\0'));
}
template <class T> std::string bytes_of(const T& value) {
  return std::string(reinterpret_cast<const char*>(&value), sizeof value);
}

const std::string good =
    text(init::tag::argument, "true") + record(init::tag::filter, bytes_of(filter[0]));
const std::string end = record(init::tag::end, "");

TEST(SandboxInitJob, ComesOutAsItWentIn) {
  test::temp_dir dir;
  const std::string tree = std::filesystem::canonical(dir.path());
  init_job in;
  in.add_text(init::tag::argument, "sh");
  in.add_text(init::tag::argument, "");
  in.add_text(init::tag::argument, "\xff b");
  in.add_text(init::tag::environment, "A=b");
  in.add_text(init::tag::directory, "/d");
  ASSERT_TRUE(in.add_mounts({tree}, {{0, "a", false}, {0, "a/b", true}}));
  in.add_filter(filter);
  in.add_listener(41080, false);
  in.add_listener(3000, true);
  in.add_number(init::tag::limit_processes, 7);
  in.add_number(init::tag::limit_data, std::uint64_t{1} << 40);
  in.add_number(init::tag::signal_mask, 3);
  in.add_number(init::tag::ignored_signals, 4);
  in.add_number(init::tag::terminal, 2);
  const auto fd = in.seal();
  ASSERT_TRUE(fd) << fd.failed().text;
  EXPECT_NE(::write(fd->get(), "x", 1), 1) << "sealed";

  piorch::init::job out;
  ASSERT_TRUE(piorch::init::read_job(fd->get(), out));
  ASSERT_EQ(out.arguments.size(), 4u);
  EXPECT_STREQ(out.arguments[0], "sh");
  EXPECT_STREQ(out.arguments[1], "");
  EXPECT_STREQ(out.arguments[2], "\xff b");
  EXPECT_EQ(out.arguments[3], nullptr);
  ASSERT_EQ(out.environment.size(), 2u);
  EXPECT_STREQ(out.environment[0], "A=b");
  EXPECT_STREQ(out.directory, "/d");
  struct stat st {};
  ASSERT_EQ(::stat(tree.c_str(), &st), 0);
  ASSERT_EQ(out.roots.size(), 1u);
  EXPECT_EQ(out.roots[0].what.inode, st.st_ino);
  EXPECT_EQ(out.roots[0].path, tree);
  ASSERT_EQ(out.mounts.size(), 2u);
  EXPECT_STREQ(out.mounts[1].path, "a/b");
  EXPECT_EQ(out.mounts[0].what.flags, init::mount_pin);
  EXPECT_EQ(out.mounts[1].what.flags, init::mount_read_only);
  EXPECT_EQ(out.filter.len, 1);
  ASSERT_EQ(out.listeners.size(), 2u);
  EXPECT_EQ(out.listeners[0].port, 41080);
  EXPECT_EQ(out.listeners[1].v6, 1);
  EXPECT_EQ(out.limit_processes, 7u);
  EXPECT_EQ(out.limit_data, std::uint64_t{1} << 40);
  EXPECT_EQ(out.signal_mask, 3u);
  EXPECT_EQ(out.ignored_signals, 4u);
  EXPECT_EQ(out.terminal, 2);
}

TEST(SandboxInitJob, ATreeThatIsALinkIsRefused) {
  test::temp_dir dir;
  std::filesystem::create_directory_symlink("/etc", dir / "link");
  init_job in;
  EXPECT_FALSE(in.add_mounts({dir / "link"}, {}));
  EXPECT_FALSE(in.add_mounts({dir / "gone"}, {}));
}

TEST(SandboxInitJob, TheSmallestJob) { EXPECT_TRUE(reads(good + end)); }

TEST(SandboxInitJob, EveryCutIsNoJob) {
  const std::string whole = good + text(init::tag::environment, "A=b") + end;
  for (std::size_t n = 0; n < whole.size(); ++n)
    EXPECT_FALSE(reads(whole.substr(0, n))) << n;
}

TEST(SandboxInitJob, MalformedRecords) {
  using init::tag;
  const init::mount_record first{0, 0}, beyond{1, 0};
  const std::string root =
      record(tag::root, bytes_of(init::root_record{1, 2}) + std::string("/r\0", 3));
  EXPECT_TRUE(
      reads(good + root + record(tag::mount, bytes_of(first) + std::string("m\0", 2)) + end));
  const std::string bad[] = {
      record(tag::argument, "no end"),
      record(tag::argument, ""),
      record(tag::argument, std::string("two\0ends\0", 9)),
      record(tag::argument, "x", ~0u),
      record(tag::argument, "x", 1u << 20),
      record(tag::directory, ""),
      record(tag::root, "short"),
      record(tag::root, bytes_of(init::root_record{}) + std::string("relative\0", 9)),
      record(tag::root, bytes_of(init::root_record{})),
      record(tag::mount, bytes_of(first) + std::string("m\0", 2)), // no root yet
      root + record(tag::mount, bytes_of(beyond) + std::string("m\0", 2)),
      root + record(tag::mount, bytes_of(first)),
      record(tag::filter, ""),
      record(tag::filter, "1234567"),
      record(tag::filter, std::string((BPF_MAXINSNS + 1) * sizeof(sock_filter), '\0')),
      record(tag::listener, "abc"),
      record(tag::limit_processes, "1234"),
      record(tag::limit_data, std::string(16, '\0')),
      record(tag::terminal, bytes_of(std::uint64_t{3})),
      record(static_cast<tag>(77), "unknown"),
      record(static_cast<tag>(~0u), "unknown"),
  };
  for (std::size_t i = 0; i < std::size(bad); ++i)
    EXPECT_FALSE(reads(good + bad[i] + end)) << "case " << i;
  std::string listeners;
  for (unsigned i = 0; i <= init::max_listeners; ++i)
    listeners += record(tag::listener, bytes_of(init::listener_record{80, 0, 0}));
  EXPECT_FALSE(reads(good + listeners + end));
}

TEST(SandboxInitJob, WithoutACommandOrAFilterThereIsNone) {
  EXPECT_FALSE(reads(end));
  EXPECT_FALSE(reads(text(init::tag::argument, "true") + end)) << "never without the filter";
  EXPECT_FALSE(reads(record(init::tag::filter, bytes_of(filter[0])) + end));
}

} // namespace
} // namespace piorch::sandbox
