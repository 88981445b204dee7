#include "tools/piorch/commands.hpp"
#include "tools/piorch/exec_options.hpp"
#include "tools/piorch/exit_status.hpp"
#include "tools/piorch/output.hpp"
#include "tools/piorch/report_file.hpp"
#include "tools/piorch/surroundings.hpp"

#include "sandbox/files.hpp"
#include "sandbox/hand_over.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace piorch::cli {

namespace {

std::uint64_t monotonic_us() {
  return static_cast<std::uint64_t>(std::chrono::duration_cast<std::chrono::microseconds>(
                                        std::chrono::steady_clock::now().time_since_epoch())
                                        .count());
}

// The caller's signal state, kept for the command; piorch itself blocks all.
struct signal_state {
  sigset_t mask;
  std::uint64_t ignored = 0;
};

signal_state block_signals() {
  signal_state out;
  sigset_t all;
  sigfillset(&all);
  ::sigprocmask(SIG_SETMASK, &all, &out.mask);
  for (int n = 1; n < 32; ++n) {
    struct sigaction now {};
    if (::sigaction(n, nullptr, &now) == 0 && now.sa_handler == SIG_IGN)
      out.ignored |= std::uint64_t{1} << (n - 1);
  }
  return out;
}

// The descriptor of the terminal in whose foreground this process is, or -1.
int foreground_terminal() {
  for (int fd = 0; fd <= 2; ++fd)
    if (const pid_t group = ::tcgetpgrp(fd); group > 0 && group == ::getpgrp())
      return fd;
  return -1;
}

// An open directory would be a way around every mount: openat(0, "../…").
bool standard_stream_is_directory() {
  for (int fd = 0; fd <= 2; ++fd) {
    struct stat st {};
    if (::fstat(fd, &st) == 0 && S_ISDIR(st.st_mode))
      return true;
  }
  return false;
}

sandbox::environment make_environment(const exec_options& o) {
  sandbox::environment out = sandbox::environment::of_this_process();
  if (o.clear_env)
    out = sandbox::minimal(out);
  for (const auto& [name, value] : o.env)
    out.set(name, value);
  return out;
}

std::vector<std::string> make_arguments(const exec_options& o) {
  if (!o.command_string)
    return o.argv;
  std::string shell = o.shell;
  if (shell.empty())
    shell = ::access("/bin/bash", X_OK) == 0 ? "/bin/bash" : "/bin/sh";
  return {shell, "-c", *o.command_string};
}

std::string describe_command(const exec_options& o) {
  if (o.command_string)
    return *o.command_string;
  std::string out;
  for (const std::string& word : o.argv)
    out += (out.empty() ? "" : " ") + word;
  return out;
}

template <class T> void append(std::vector<T>& to, const std::vector<T>& from) {
  to.insert(to.end(), from.begin(), from.end());
}

int refuse(const error& why) {
  complain("exec", why.text);
  return exit_not_run;
}

} // namespace

int exec_command(const arguments& args) {
  const std::uint64_t begun = monotonic_us();
  const signal_state caller = block_signals();
  auto options = parse_exec_options(args);
  if (!options)
    return usage_error("exec", options.failed().text);
  if (standard_stream_is_directory())
    return refuse({failure::usage, "a standard stream is an open directory, which would let the "
                                   "command leave the sandbox; redirect it from /dev/null"});
  auto around = look_around();
  if (!around)
    return refuse(around.failed());
  config::settings settings = around->settings.values;
  append(settings.network.allowed_domains, options->allow_domains);
  append(settings.network.denied_domains, options->deny_domains);
  append(settings.network.allowed_local_ports, options->allow_local_ports);
  auto& ports = settings.network.allowed_local_ports;
  std::sort(ports.begin(), ports.end());
  ports.erase(std::unique(ports.begin(), ports.end()), ports.end());

  around->policy.workspace =
      options->cwd.empty() ? std::string(".") : absolute(options->cwd, around->current_directory);
  for (const std::string& path : options->allow_read)
    around->policy.additional_read.push_back(absolute(path, around->current_directory));

  sandbox::hand_over next;
  if (!options->report.empty()) {
    auto report = open_report(options->report, around->current_directory);
    if (!report)
      return refuse(report.failed());
    next.report = std::move(*report);
  }

  sandbox::launch_request request;
  request.arguments = make_arguments(*options);
  request.variables = make_environment(*options);
  request.terminal = foreground_terminal();
  request.signal_mask = caller.mask;
  request.ignored_signals = caller.ignored;
  request.local_ports = ports;
  if (const auto workspace = sandbox::canonical(around->policy.workspace))
    request.directory = *workspace;

  auto started = sandbox::launch(settings, around->policy, request);
  if (!started)
    return refuse(started.failed());

  next.bwrap = started->bwrap;
  next.channel = std::move(started->channel);
  next.diagnostics = std::move(started->diagnostics);
  next.temp = std::move(started->temp);
  if (request.terminal >= 0)
    next.terminal.reset(::fcntl(request.terminal, F_DUPFD_CLOEXEC, 3));
  next.workspace = started->rules.workspace;
  next.temp_dir = started->rules.temp_dir;
  next.trusted_file =
      around->settings.file.empty() ? around->paths.settings_file : around->settings.file;
  next.command = describe_command(*options);
  next.time_limit = options->timeout.value_or(std::chrono::milliseconds(0));
  next.begun_us = begun;
  next.ask = options->ask == ask_mode::always ||
             (options->ask == ask_mode::on_a_terminal && ::isatty(STDERR_FILENO) == 1);
  next.settings = std::move(settings);

  const std::string broker = sandbox::join(around->policy.libexec_dir, "piorch-broker");
  auto file = sandbox::send(next);
  if (file) {
    const std::string number = std::to_string(file->get());
    ::execl(broker.c_str(), "piorch-broker", "exec", number.c_str(), nullptr);
    complain("exec",
             "cannot run " + broker + ": " + std::strerror(errno) + "; install piorch again");
  } else
    complain("exec", file.failed().text);
  ::kill(started->bwrap, SIGKILL);
  return exit_not_run;
}

} // namespace piorch::cli
