#include "sandbox/run.hpp"

#include "sandbox/facilities.hpp"
#include "sandbox/init_protocol.hpp"
#include "sandbox/launch.hpp"

#include <cerrno>
#include <cstring>
#include <sys/wait.h>

namespace piorch::sandbox {

namespace {

constexpr int timed_out_status = 124, not_run_status = 125, not_executable_status = 126,
              not_found_status = 127;

} // namespace

run::step run::on_started() {
  if (phase_ != phase::starting)
    return step::nothing;
  phase_ = phase::running;
  outcome_.started = true;
  return step::nothing;
}

run::step run::on_exited(int wait_status, std::uint64_t cpu_us, std::uint64_t peak_rss_kib) {
  if (phase_ != phase::running)
    return step::nothing;
  phase_ = phase::ended;
  outcome_.cpu_seconds = static_cast<double>(cpu_us) / 1e6;
  outcome_.peak_rss_bytes = peak_rss_kib * 1024;
  if (WIFSIGNALED(wait_status))
    outcome_.signal = WTERMSIG(wait_status);
  outcome_.exit_code = outcome_.signal ? 128 + outcome_.signal : WEXITSTATUS(wait_status);
  return step::nothing;
}

run::step run::on_failed(std::uint32_t stage, int error, const std::string& text) {
  if (phase_ != phase::starting)
    return step::nothing;
  phase_ = phase::ended;
  outcome_.exit_code = not_run_status;
  if (stage == static_cast<std::uint32_t>(init::stage::exec))
    outcome_.exit_code = error == ENOENT ? not_found_status : not_executable_status;
  outcome_.problem = "cannot " + text + ": " + std::strerror(error);
  if (stage == static_cast<std::uint32_t>(init::stage::guard))
    outcome_.problem += std::string("; ") + remedy_for_no_notification(error);
  return step::nothing;
}

run::step run::on_end(end_reason why) {
  if (ending_ || phase_ == phase::ended || phase_ == phase::gone)
    return step::nothing;
  ending_ = true;
  outcome_.timed_out = why == end_reason::timeout;
  outcome_.cancelled = why == end_reason::cancel;
  // Also before it was heard that the command runs: it may, and has a right to its last words.
  return step::terminate;
}

run::step run::on_grace_over() {
  return ending_ && phase_ != phase::gone ? step::kill : step::nothing;
}

run::step run::on_gone(const std::string& diagnostics) {
  if (phase_ == phase::gone)
    return step::nothing;
  if (phase_ == phase::running) { // killed from outside, or by us
    outcome_.signal = SIGKILL;
    outcome_.exit_code = 128 + SIGKILL;
  } else if (phase_ == phase::starting && !ending_)
    outcome_.problem = "cannot make a sandbox: " + explain_bwrap(diagnostics);
  if (outcome_.timed_out)
    outcome_.exit_code = timed_out_status;
  phase_ = phase::gone;
  return step::clean_up;
}

} // namespace piorch::sandbox
