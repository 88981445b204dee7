#include "tools/piorch/session_run.hpp"

#include "config/limits.hpp"
#include "orchestration/json_text.hpp"
#include "tools/piorch/connection_questions.hpp"
#include "tools/piorch/exit_status.hpp"
#include "tools/piorch/orchestrator.hpp"
#include "tools/piorch/output.hpp"
#include "tools/piorch/progress.hpp"

#include <csignal>
#include <nlohmann/json.hpp>
#include <optional>
#include <sys/signalfd.h>
#include <unistd.h>

namespace piorch::cli {

using nlohmann::json;

namespace {

constexpr int status_interrupted = 128 + SIGINT;
constexpr std::chrono::seconds stop_limit{5};

// SIGINT and SIGTERM as something to wait for.
ipc::unique_fd interrupts() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  ::sigprocmask(SIG_BLOCK, &set, nullptr);
  return ipc::unique_fd(::signalfd(-1, &set, SFD_CLOEXEC | SFD_NONBLOCK));
}

int drain(int fd) {
  signalfd_siginfo info;
  int count = 0;
  while (::read(fd, &info, sizeof info) == sizeof info)
    count += info.ssi_signo == SIGTERM ? 2 : 1;
  return count;
}

int print_answer(std::string_view command, const json& answer, const run_options& options) {
  const auto& document = orchestration::member(answer, "session");
  if (options.json)
    return print(orchestration::dump(answer) + "\n");
  if (options.background)
    return print(orchestration::string_at(document, "id") + "\n");
  const auto& text = orchestration::member(answer, "text");
  if (!text.is_string())
    return failed(command, {failure::fault, "the orchestrator gave no text"});
  if (options.stays) {
    const auto note = "session " + orchestration::string_at(document, "id") +
                      " stays for follow-ups (piorch stop ends it)\n";
    (void)!::write(STDERR_FILENO, note.data(), note.size()); // a courtesy
  }
  auto out = text.get<std::string>();
  if (out.empty() || out.back() != '\n')
    out += '\n';
  return print_foreign(out);
}

} // namespace

int run_session_call(std::string_view command, ipc::connected& at, const ipc::rpc_call& call,
                     const run_options& options) {
  using clock = ipc::client::clock;
  const auto signals = interrupts();
  std::optional<progress> shown;
  if (!options.background && !options.json)
    shown.emplace(STDERR_FILENO);
  connection_questions questions(options.asks, [&](const json& params) {
    if (shown)
      shown->show(params);
  });
  std::string session = options.session;
  if (!session.empty())
    questions.about(session);
  int interrupted = 0; // 1: abort wanted, 2: stop wanted
  int told = 0;        // of these, passed on
  const auto id = at.peer.request(call);
  for (;;) {
    auto until = questions.look_again();
    if (shown && !questions.is_open() && shown->tick())
      until = clock::now() + std::chrono::seconds(1);
    auto others = questions.wait_for();
    others.push_back({signals.get(), POLLIN, 0});
    auto [from, in] = ipc::client::receive_any({&at.peer}, until, others);
    if (!in) {
      shown.reset();
      return failed(command, in.failed());
    }
    if (in->what == ipc::client::incoming::kind::woken && from == others.size())
      interrupted += drain(signals.get());
    if (in->what == ipc::client::incoming::kind::woken && from < others.size())
      questions.read();
    if (in->what == ipc::client::incoming::kind::too_late)
      questions.read();
    if (in->what == ipc::client::incoming::kind::message) {
      if (shown && in->message.method == ipc::approval_request_method)
        shown->clear_line();
      if (questions.take(at.peer, in->message))
        continue;
      if (auto answer = ipc::client::answer_to(id, in->message)) {
        shown.reset();
        if (*answer)
          return print_answer(command, **answer, options);
        const int status = failed(command, answer->failed());
        return interrupted > 0 ? status_interrupted : status;
      }
      if (in->message.method == ipc::session_event_method) {
        if (session.empty()) {
          session = orchestration::string_at(in->message.params, "sessionId");
          questions.about(session);
        }
        questions.event(std::move(in->message.params));
      }
    }
    // Before the session has a name to us, to leave is to stop it.
    if (interrupted >= 1 && session.empty())
      return status_interrupted;
    if (interrupted >= 1 && told < 1) {
      told = 1;
      at.peer.request(ipc::session_abort_params{session});
      if (shown)
        shown->note("aborting the run; Ctrl-C again stops the session");
    }
    if (interrupted >= 2 && told < 2) {
      told = 2;
      ipc::session_stop_params stop;
      stop.session_id = session;
      at.peer.request(stop);
      (void)at.peer.flush(clock::now() + stop_limit);
    }
    if (interrupted >= 3)
      return status_interrupted; // the third time: not even waiting for that
  }
}

result<std::string> task_from(const arguments& words) {
  std::string task;
  if (words.size() == 1 && words[0] == "-") {
    char buffer[65536];
    for (;;) {
      const auto n = ::read(STDIN_FILENO, buffer, sizeof buffer);
      if (n < 0)
        return error{failure::fault, "cannot read the task from standard input"};
      if (n == 0)
        break;
      task.append(buffer, static_cast<std::size_t>(n));
      if (task.size() > limits::session_task_bytes)
        return error{failure::usage, "the task is longer than " +
                                         std::to_string(limits::session_task_bytes >> 20) + " MiB"};
    }
  } else {
    for (const auto& word : words)
      task += (task.empty() ? "" : " ") + word;
  }
  if (task.find_first_not_of(" \t\r\n") == std::string::npos)
    return error{failure::usage, "no task given"};
  return task;
}

} // namespace piorch::cli
