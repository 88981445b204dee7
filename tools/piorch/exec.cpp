#include "tools/piorch/commands.hpp"
#include "tools/piorch/exec_host.hpp"
#include "tools/piorch/exec_options.hpp"
#include "tools/piorch/exit_status.hpp"
#include "tools/piorch/output.hpp"
#include "tools/piorch/report_file.hpp"
#include "tools/piorch/surroundings.hpp"

#include "orchestration/host_access.hpp"
#include "sandbox/caller.hpp"
#include "sandbox/files.hpp"
#include "sandbox/hand_over.hpp"
#include "sandbox/inside.hpp"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <unistd.h>

namespace piorch::cli {

namespace {

// The descriptor of the terminal in whose foreground this process is, or -1.
int foreground_terminal() {
  for (int fd = 0; fd <= 2; ++fd)
    if (const pid_t group = ::tcgetpgrp(fd); group > 0 && group == ::getpgrp())
      return fd;
  return -1;
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
  return {o.shell.empty() ? sandbox::default_shell() : o.shell, "-c", *o.command_string};
}

// One line for people; what a person approves, complete and as a shell would read it.
std::string describe_command(const exec_options& o) {
  const std::string command =
      o.command_string ? *o.command_string : orchestration::in_words(o.argv);
  return o.shell.empty() ? command : orchestration::in_words(make_arguments(o));
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
  const std::uint64_t begun = sandbox::monotonic_us();
  const sandbox::caller_signals caller = sandbox::block_signals();
  auto options = parse_exec_options(args);
  if (!options)
    return usage_error("exec", options.failed().text);
  if (sandbox::is_inside())
    return refuse({failure::sandbox_unavailable,
                   "this is the inside of a sandbox already, which has no other in it; run the "
                   "command as it is"});
  if (sandbox::standard_stream_is_directory())
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
  for (const std::string& path : options->allow_read) {
    // A mistyped path would only show as an error of the command's.
    if (::access(path.c_str(), F_OK) != 0)
      return refuse({failure::usage, "--allow-read " + path + ": " + std::strerror(errno)});
    around->policy.additional_read.push_back(absolute(path, around->current_directory));
  }

  sandbox::hand_over next;
  if (!options->report.empty()) {
    auto report = open_report(options->report, around->current_directory);
    if (!report)
      return refuse(report.failed());
    next.report = std::move(*report);
  }

  const bool asks = options->ask == ask_mode::always ||
                    (options->ask == ask_mode::on_a_terminal && ::isatty(STDERR_FILENO) == 1);
  sandbox::launch_request request;
  request.arguments = make_arguments(*options);
  request.variables = make_environment(*options);
  request.terminal = foreground_terminal();
  request.signal_mask = caller.mask;
  request.ignored_signals = caller.ignored;
  request.local_ports = ports;
  if (const auto workspace = sandbox::canonical(around->policy.workspace))
    request.directory = *workspace;

  next.command = describe_command(*options);
  auto prefix = host_prefix(settings, next.command, asks ? request.terminal : -1);
  if (!prefix)
    return refuse(prefix.failed());
  const bool retries =
      may_be_retried(settings, asks && (request.terminal == 0 || request.terminal == 1));
  if (*prefix || retries) {
    auto there = host_run(*options, request, next.command);
    if (!there)
      return refuse(there.failed());
    there->prefix = prefix->value_or("");
    next.host = std::move(*there);
  }
  ipc::unique_fd its_stderr;
  if (retries && !*prefix && (its_stderr = watch_stderr(*next.host)))
    request.stdio[2] = its_stderr.get();

  // The command may have changed them before its broker is up.
  if (termios was{}; request.terminal >= 0 && ::tcgetattr(request.terminal, &was) == 0)
    next.terminal_settings = was;
  if (!*prefix) {
    auto started = sandbox::launch(settings, around->policy, request);
    if (!started)
      return refuse(started.failed());
    sandbox::take(next, std::move(*started));
  }
  if (request.terminal >= 0)
    next.terminal.reset(::fcntl(request.terminal, F_DUPFD_CLOEXEC, 3));
  next.trusted_file =
      around->settings.file.empty() ? around->paths.settings_file : around->settings.file;
  next.time_limit = options->timeout.value_or(std::chrono::milliseconds(0));
  next.begun_us = begun;
  next.ask = asks;
  next.settings = std::move(settings);
  return refuse(sandbox::become_broker(next, around->policy.libexec_dir, "exec"));
}

} // namespace piorch::cli
