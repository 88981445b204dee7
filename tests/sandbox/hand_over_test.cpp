#include "sandbox/hand_over.hpp"

#include "tests/support/temp_dir.hpp"

#include <cstring>
#include <fcntl.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>
#include <sys/mman.h>
#include <unistd.h>

namespace piorch::sandbox {
namespace {

ipc::unique_fd null_device() { return ipc::unique_fd(::open("/dev/null", O_RDWR | O_CLOEXEC)); }

TEST(SandboxHandOver, ComesOutAsItWentIn) {
  test::temp_dir dir;
  hand_over in;
  in.bwrap = 4711;
  in.channel = null_device();
  in.diagnostics = null_device();
  in.report = null_device();
  in.temp = std::move(*scratch::make(dir.path()));
  in.workspace = std::string("/w/\xff\xfe\x80 \"\\\n\xc3\xa4"); // bytes, not text
  in.temp_dir = "/tmp/\xe2\x82";
  in.command = "echo \xf0";
  in.time_limit = std::chrono::milliseconds(1234);
  in.begun_us = ~std::uint64_t{0} >> 1;
  in.ask = true;
  in.terminal_settings.emplace();
  in.terminal_settings->c_cc[VINTR] = cc_t{0xfe};
  in.settings.limits.processes = 77;
  in.settings.network.allowed_local_ports = {3000};
  const std::string path = in.temp.path(), workspace = in.workspace, command = in.command;
  const int channel = in.channel.get();

  auto file = send(in);
  ASSERT_TRUE(file) << file.failed().text;
  EXPECT_FALSE(in.channel) << "given up";
  EXPECT_EQ(::fcntl(channel, F_GETFD), 0) << "passes an exec";
  auto out = receive(file->release());
  ASSERT_TRUE(out) << out.failed().text;
  EXPECT_EQ(out->bwrap, 4711);
  EXPECT_EQ(out->channel.get(), channel);
  EXPECT_EQ(::fcntl(channel, F_GETFD), FD_CLOEXEC) << "and goes no further";
  EXPECT_TRUE(out->report);
  EXPECT_FALSE(out->terminal);
  EXPECT_EQ(out->temp.path(), path);
  EXPECT_EQ(out->workspace, workspace);
  EXPECT_EQ(out->temp_dir, "/tmp/\xe2\x82");
  EXPECT_EQ(out->command, command);
  EXPECT_EQ(out->time_limit, std::chrono::milliseconds(1234));
  EXPECT_EQ(out->begun_us, ~std::uint64_t{0} >> 1);
  EXPECT_TRUE(out->ask);
  ASSERT_TRUE(out->terminal_settings);
  EXPECT_EQ(out->terminal_settings->c_cc[VINTR], cc_t{0xfe});
  EXPECT_EQ(out->settings.limits.processes, 77u);
  EXPECT_THAT(out->settings.network.allowed_local_ports, testing::ElementsAre(3000));
}

TEST(SandboxHandOver, WhatMayRunOnTheHostGoesWithIt) {
  hand_over in;
  in.host.emplace();
  in.host->job.arguments = {"tmux", "a\xff b", ""};
  in.host->job.environment = {"A=\xfe"};
  in.host->job.directory = "/w\xff";
  in.host->shown = "tmux 'a\xff b' ''";
  in.host->variables = "B=1";
  in.host->prefix = "tmux";
  in.host->signal_mask = std::uint64_t{1} << 63;
  in.host->ignored_signals = 2;
  in.host->input_offset = 7;
  in.host->stderr_from = null_device();
  const auto job = in.host->job;
  const auto shown = in.host->shown;
  auto file = send(in);
  ASSERT_TRUE(file) << file.failed().text;
  auto out = receive(file->release());
  ASSERT_TRUE(out && out->host);
  EXPECT_EQ(out->bwrap, -1);
  EXPECT_EQ(out->host->job.arguments, job.arguments);
  EXPECT_EQ(out->host->job.environment, job.environment);
  EXPECT_EQ(out->host->job.directory, job.directory);
  EXPECT_EQ(out->host->shown, shown);
  EXPECT_EQ(out->host->variables, "B=1");
  EXPECT_EQ(out->host->prefix, "tmux");
  EXPECT_EQ(out->host->signal_mask, std::uint64_t{1} << 63);
  EXPECT_EQ(out->host->ignored_signals, 2u);
  EXPECT_EQ(out->host->input_offset, 7);
  EXPECT_TRUE(out->host->stderr_from);
  EXPECT_FALSE(out->host->stderr_to);
}

TEST(SandboxHandOver, AnythingElseIsRefused) {
  for (const char* text : {"", "{", "[]", "42", "{} trailing"}) {
    ipc::unique_fd fd(::memfd_create("x", MFD_CLOEXEC));
    ASSERT_GE(::write(fd.get(), text, std::strlen(text)), 0);
    ::lseek(fd.get(), 0, SEEK_SET);
    EXPECT_FALSE(receive(fd.release())) << text;
  }
}

} // namespace
} // namespace piorch::sandbox
