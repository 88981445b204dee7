#include "tools/piorch-broker/serve_broker.hpp"

#include "tools/piorch-broker/host_command.hpp"
#include "tools/piorch-broker/sandbox_host.hpp"
#include "tools/piorch-broker/streams.hpp"

#include "ipc/channel.hpp"
#include "sandbox/caller.hpp"
#include "sandbox/launch.hpp"
#include "sandbox/remote_job.hpp"
#include "sandbox/remote_question.hpp"
#include "sandbox/surroundings.hpp"

#include <boost/asio/steady_timer.hpp>
#include <charconv>
#include <csignal>
#include <optional>
#include <unistd.h>

namespace piorch::broker {

namespace {

namespace asio = boost::asio;
using ipc::frame_type;

constexpr int exit_not_run = 125; // contract, section 3

class serve_broker {
public:
  explicit serve_broker(ipc::unique_fd channel)
      : channel_(ipc::channel::make(io_, std::move(channel))), streams_(io_, *channel_) {}

  [[noreturn]] void run() {
    channel_->start({[this](ipc::frame f) { take(f); }, [this] { streams_.credit(); },
                     [this](const std::string&) { line_lost(); }});
    io_.run();
    ::_exit(0); // the report has been sent and nothing is pending
  }

private:
  void take(ipc::frame f) {
    switch (f.type) {
      case frame_type::job:
        if (!host_ && !on_host_ && !over_)
          start(f.payload);
        break;
      case frame_type::input:
        streams_.input(f.payload);
        break;
      case frame_type::input_end:
        streams_.input_end();
        break;
      case frame_type::signal:
        if (f.payload.size() == 1)
          deliver(static_cast<unsigned char>(f.payload[0]));
        break;
      case frame_type::stop:
        end(sandbox::end_reason::cancel);
        break;
      case frame_type::approval_answer:
        answered(f.payload);
        break;
      default: // the rest is ours to say
        break;
    }
  }

  void start(std::string_view text) {
    auto job = sandbox::read_job(text);
    if (job && job->on_host)
      return start_on_host(*job);
    auto done = job ? launch(*job) : result<piorch::done>(job.failed());
    if (!done)
      return fail(done.failed());
    host_.emplace(io_, next_,
                  front{[this] { channel_->send(frame_type::started); },
                        [this](const sandbox::refused_entry& r) { refused(r); },
                        [this](const sandbox::exec_report& r) { ended(r); }},
                  make_approver());
    streams_.start([this] { leave_if_done(); });
  }

  result<done> launch(const sandbox::remote_job& job) {
    next_.begun_us = sandbox::monotonic_us();
    auto around = sandbox::look_around();
    if (!around)
      return std::move(around).failed();
    auto ends = streams_.open(job.has_input);
    if (!ends)
      return std::move(ends).failed();
    const config::settings& settings = around->settings.values;
    around->policy.workspace = job.directory;
    around->policy.additional_read = job.readable;
    sandbox::launch_request request;
    request.arguments = job.arguments;
    request.variables = sandbox::environment(job.environment);
    // Node.js and Pi are those of the client, not of whoever started the orchestrator.
    if (const auto path = request.variables.value("PATH"); !path.empty())
      around->policy.search_path = path;
    request.directory = job.directory;
    request.stdio = {job.has_input ? ends->input.get() : -1, ends->output.get(),
                     ends->error_output.get()};
    request.new_session = true;
    sigemptyset(&request.signal_mask);
    request.local_ports = settings.network.allowed_local_ports;
    request.files = job.files;
    auto started = sandbox::launch(settings, around->policy, request);
    if (!started)
      return std::move(started).failed();
    sandbox::take(next_, std::move(*started));
    next_.command = job.command;
    next_.time_limit = job.time_limit;
    next_.ask = job.ask;
    next_.trusted_file =
        around->settings.file.empty() ? around->paths.settings_file : around->settings.file;
    next_.settings = settings;
    return done{};
  }

  // The orchestrator has had it approved; the configuration is looked at here, too.
  void start_on_host(const sandbox::remote_job& job) {
    auto around = sandbox::look_around();
    if (!around)
      return fail(around.failed());
    if (around->settings.values.host_ipc.mode != config::host_ipc_mode::ask)
      return fail({failure::fault, "hostIPC.mode is off: nothing runs on the host"});
    auto ends = streams_.open(job.has_input);
    if (!ends)
      return fail(ends.failed());
    on_host_.emplace(io_, [this](const sandbox::outcome& how) { ended_on_host(how); });
    next_.begun_us = sandbox::monotonic_us();
    auto started = on_host_->start(job, {job.has_input ? ends->input.get() : -1, ends->output.get(),
                                         ends->error_output.get()});
    if (!started)
      return fail(started.failed());
    channel_->send(frame_type::started);
    streams_.start([this] { leave_if_done(); });
  }

  // A daemon that was started may keep the pipes open for ever.
  void ended_on_host(const sandbox::outcome& how) {
    sandbox::exec_report r;
    r.how = how;
    r.duration = std::chrono::microseconds(sandbox::monotonic_us() - next_.begun_us);
    last_output_.expires_after(sandbox::run::grace);
    last_output_.async_wait([this](boost::system::error_code ec) {
      if (!ec)
        streams_.give_up();
    });
    ended(r);
  }

  void deliver(int signal) {
    if (host_)
      host_->deliver(signal);
    else if (on_host_)
      on_host_->deliver(signal);
  }

  void refused(const sandbox::refused_entry& r) {
    channel_->send(frame_type::refused_file, sandbox::refused_text(r));
  }

  // The orchestrator finds somebody to answer. Nothing is said after the report.
  approver make_approver() {
    approver a;
    a.decided = [this](const sandbox::network_entry& e) {
      channel_->send(frame_type::network_event, sandbox::entry_text(e));
    };
    if (!next_.ask)
      return a; // what no rule allows is refused
    a.show = [this](const sandbox::network::ask_request& r) {
      if (!report_)
        channel_->send(
            frame_type::approval_ask,
            sandbox::question_text({std::to_string(r.id), sandbox::network::to_text(r.to),
                                    next_.settings.approvals.timeout}));
    };
    a.hide = [this](std::uint64_t id) {
      if (!report_)
        channel_->send(frame_type::approval_cancel, sandbox::withdrawal_text(std::to_string(id)));
    };
    return a;
  }

  void answered(std::string_view text) {
    const auto answer = sandbox::read_answer(text);
    std::uint64_t id = 0;
    if (!answer || !host_)
      return;
    const char* end = answer->id.data() + answer->id.size();
    if (std::from_chars(answer->id.data(), end, id).ptr == end)
      host_->answer(id, answer->source, answer->allow, answer->reason);
  }

  void end(sandbox::end_reason why) {
    ending_ = true;
    if (host_)
      host_->end(why);
    else if (on_host_)
      on_host_->end(why);
    else if (!over_)
      fail({failure::cancelled, "cancelled before it was started"});
    if (report_)
      streams_.give_up();
  }

  // The orchestrator is gone: so is everything that it wanted.
  void line_lost() {
    lost_ = true;
    if ((!host_ && !on_host_) || report_)
      ::_exit(1);
    end(sandbox::end_reason::hangup);
  }

  void ended(const sandbox::exec_report& r) {
    report_ = r;
    if (lost_)
      ::_exit(1);
    if (ending_)
      streams_.give_up(); // what a consumer that gave up did not take is not waited for
    leave_if_done();
  }

  void fail(const error& why) {
    over_ = true;
    channel_->send(frame_type::failed, sandbox::failure_text(why));
    channel_->shut();
  }

  // The report is the last word: after the tree's end and after all output.
  void leave_if_done() {
    if (!report_ || over_ || !streams_.drained())
      return;
    const auto& how = report_->how;
    if (!how.started && how.exit_code == exit_not_run)
      return fail({how.cancelled ? failure::cancelled : failure::sandbox_unavailable,
                   how.problem.empty() ? "ended before it was started" : how.problem});
    over_ = true;
    if (const std::string said = "piorch: " + how.problem + "\n";
        !how.problem.empty() && said.size() <= channel_->credit()) // not found, not executable
      channel_->stream(frame_type::error_output, said);
    channel_->send(frame_type::exit_report, sandbox::report_json(*report_));
    channel_->shut();
  }

  asio::io_context io_{1};
  std::shared_ptr<ipc::channel> channel_;
  streams streams_;
  sandbox::hand_over next_;
  std::optional<sandbox_host> host_;
  std::optional<host_command> on_host_;
  asio::steady_timer last_output_{io_};
  std::optional<sandbox::exec_report> report_;
  bool ending_ = false;
  bool lost_ = false;
  bool over_ = false;
};

} // namespace

void run_serve(ipc::unique_fd channel) { serve_broker(std::move(channel)).run(); }

} // namespace piorch::broker
