// A worker's line to its supervisor: questions out, answers back, and how it ended. Without the
// supervisor every question is answered with no. Main thread only.
#pragma once

#include "ipc/stream_session.hpp"
#include "ipc/worker_link.hpp"
#include "sandbox/hand_over.hpp"
#include "sandbox/network/gateway.hpp"
#include "sandbox/run.hpp"

#include <boost/asio/io_context.hpp>
#include <boost/asio/steady_timer.hpp>
#include <chrono>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>

namespace piorch::broker {

class supervisor_line {
public:
  struct decision {
    std::uint64_t question;
    bool allow;
    std::string source, reason;
  };

  // `answered` is never called from within ask().
  supervisor_line(boost::asio::io_context& io, sandbox::hand_over& job,
                  std::function<void(const decision&)> answered);

  void ask(const sandbox::network::ask_request& question);
  void forget(std::uint64_t question); // nobody waits for the answer any more
  // A worker inside this one's sandbox: may it run? And: it has ended.
  using admitted_fn = std::function<void(bool allow, const std::string& reason)>;
  void sign_in(const std::string& nested, const std::string& agent, admitted_fn admitted);
  void sign_out(const std::string& nested);
  // The worker has ended; `done` is called when that is said, and within a fraction of a second.
  void end(const sandbox::outcome& how, std::function<void()> done);

private:
  void take(const ipc::line_buffer::line& line);
  void lost(const std::string& why);
  void refuse_all();
  void settle(const decision& d);
  void wait_for_a_word();
  void finish();
  ipc::worker_frame frame(ipc::worker_frame::kind what, const std::string& name) const;

  boost::asio::io_context& io_;
  const sandbox::hand_over& job_;
  std::function<void(const decision&)> answered_;
  std::shared_ptr<ipc::stream_session> line_;
  boost::asio::steady_timer silence_, last_words_;
  std::set<std::uint64_t> open_;
  std::map<std::string, admitted_fn> entering_; // by frame id
  std::string lost_;                            // why there is no supervisor any more
  std::function<void()> done_;
};

} // namespace piorch::broker
