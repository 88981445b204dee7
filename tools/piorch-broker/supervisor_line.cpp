#include "tools/piorch-broker/supervisor_line.hpp"

#include "sandbox/network/decision.hpp"

#include <boost/asio/post.hpp>
#include <charconv>
#include <utility>

namespace piorch::broker {

namespace asio = boost::asio;
using kind = ipc::worker_frame::kind;

namespace {

// Of heartbeats in a row that may be late before the supervisor counts as hung.
constexpr int missed_heartbeats = 3;
constexpr std::chrono::milliseconds last_words_limit{250};

} // namespace

supervisor_line::supervisor_line(asio::io_context& io, sandbox::hand_over& job,
                                 std::function<void(const decision&)> answered)
    : io_(io), job_(job), answered_(std::move(answered)),
      line_(ipc::stream_session::make(io, std::move(job.supervisor))), silence_(io),
      last_words_(io) {
  line_->start({[this](const ipc::line_buffer::line& l) { take(l); },
                {},
                [this](const std::string& why) { lost("it is gone (" + why + ")"); }});
}

// A frame's id is used once among all workers of a supervisor.
ipc::worker_frame supervisor_line::frame(kind what, const std::string& name) const {
  ipc::worker_frame f;
  f.id = job_.worker_id + "-" + name;
  f.what = what;
  f.capability = job_.capability;
  f.worker_id = job_.worker_id;
  f.cwd = job_.workspace;
  return f;
}

void supervisor_line::ask(const sandbox::network::ask_request& question) {
  open_.insert(question.id);
  if (!lost_.empty())
    return refuse_all();
  auto f = frame(kind::network, std::to_string(question.id));
  f.host = question.to.host;
  f.port = question.to.port;
  line_->send(ipc::write(f));
  wait_for_a_word();
}

void supervisor_line::sign_in(const std::string& nested, const std::string& agent,
                              admitted_fn admitted) {
  auto f = frame(kind::register_worker, "");
  f.worker_id = nested;
  f.id = nested + "-start";
  f.parent = job_.worker_id;
  f.agent = agent;
  entering_.emplace(f.id, std::move(admitted));
  if (!lost_.empty())
    return refuse_all();
  line_->send(ipc::write(f));
}

void supervisor_line::sign_out(const std::string& nested) {
  auto f = frame(kind::unregister, "");
  f.worker_id = nested;
  f.id = nested + "-end";
  f.exit_code = 0; // how it ended, only its own parent knows
  if (lost_.empty())
    line_->send(ipc::write(f));
}

void supervisor_line::forget(std::uint64_t question) { open_.erase(question); }

void supervisor_line::take(const ipc::line_buffer::line& line) {
  if (line.what != ipc::line_buffer::kind::complete)
    return lost("what it says is not understood");
  const auto reply = ipc::read_worker_reply(line.text);
  if (!reply)
    return lost("what it says is not understood");
  wait_for_a_word();
  if (reply->what == ipc::worker_reply::kind::heartbeat)
    return;
  if (auto entering = entering_.extract(reply->id); !entering.empty())
    return entering.mapped()(reply->allow, reply->reason);
  const std::string start = job_.worker_id + "-";
  std::uint64_t id = 0;
  const char* end = reply->id.data() + reply->id.size();
  if (reply->id.compare(0, start.size(), start) != 0 ||
      std::from_chars(reply->id.data() + start.size(), end, id).ptr != end || open_.count(id) == 0)
    return;
  settle({id, reply->allow, reply->source.empty() ? "supervisor" : reply->source, reply->reason});
}

void supervisor_line::settle(const decision& d) {
  if (open_.erase(d.question) != 0)
    answered_(d);
}

// Only while somebody waits: an idle line is silent.
void supervisor_line::wait_for_a_word() {
  silence_.cancel();
  if (open_.empty() || job_.heartbeat.count() == 0)
    return;
  silence_.expires_after(job_.heartbeat * missed_heartbeats);
  silence_.async_wait([this](boost::system::error_code ec) {
    if (!ec && !open_.empty())
      lost("it has been silent for too long");
  });
}

void supervisor_line::lost(const std::string& why) {
  if (lost_.empty())
    lost_ = why;
  silence_.cancel();
  refuse_all();
  finish();
}

void supervisor_line::refuse_all() {
  asio::post(io_, [this] {
    const std::string why = "the supervisor of this worker cannot be reached, " + lost_;
    const auto open = open_;
    for (const std::uint64_t id : open)
      settle({id, false, sandbox::network::source::nobody, "nobody can be asked: " + why});
    for (const auto& [id, admitted] : std::exchange(entering_, {}))
      admitted(false, why);
  });
}

void supervisor_line::end(const sandbox::outcome& how, std::function<void()> done) {
  done_ = std::move(done);
  silence_.cancel();
  if (!lost_.empty())
    return finish();
  auto f = frame(kind::unregister, "end");
  if (how.signal != 0)
    f.signal = how.signal;
  else
    f.exit_code = how.exit_code;
  f.reason = how.problem;
  last_words_.expires_after(last_words_limit);
  last_words_.async_wait([this](boost::system::error_code ec) {
    if (!ec)
      finish();
  });
  line_->send(ipc::write(f));
  line_->shut(last_words_limit);
}

void supervisor_line::finish() {
  if (auto done = std::exchange(done_, nullptr))
    asio::post(io_, std::move(done));
}

} // namespace piorch::broker
