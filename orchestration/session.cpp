#include "orchestration/session.hpp"

#include "orchestration/json_text.hpp"
#include "orchestration/session_events.hpp"

#include <algorithm>

namespace piorch::orchestration {

namespace {

const std::string ready_id = "ready";

// The end of stderr, for an error: whole lines, a bounded number of bytes.
std::string shown_tail(const std::string& tail) {
  std::string_view v = tail;
  while (!v.empty() && (v.back() == '\n' || v.back() == '\r'))
    v.remove_suffix(1);
  if (v.size() > limits::stderr_shown_bytes) {
    v.remove_prefix(v.size() - limits::stderr_shown_bytes);
    if (const auto line = v.find('\n'); line != std::string_view::npos)
      v.remove_prefix(line + 1);
  }
  return std::string(v);
}

} // namespace

session_document first_document(const session_spec& spec, instant now) {
  session_document d;
  d.id = spec.id;
  d.name = spec.name;
  d.parent_id = spec.parent_id;
  d.depth = spec.depth;
  d.cwd = spec.cwd;
  d.model = spec.model;
  d.created_at = d.updated_at = now;
  return d;
}

session::session(session_spec spec, instant now)
    : document_(first_document(spec, now)), providers_(std::move(spec.providers)),
      start_hint_(std::move(spec.start_hint)) {}

session_effects session::begin(instant now) {
  session_effects out;
  out.events.push_back({now, session_events::state(document_.state, {})});
  out.document_changed = true;
  return out;
}

error session::not_live() const {
  if (stopping_ || document_.state == session_state::stopped)
    return {failure::session_stopped, "session " + document_.id + " was stopped"};
  const auto& why = document_.error.empty() ? failure_ : document_.error;
  return {failure::session_failed,
          "session " + document_.id + " has failed" + (why.empty() ? "" : ": " + why)};
}

result<session_effects> session::submit(task_id task, std::string text, instant now) {
  if (ending_)
    return not_live();
  if (escaped_bytes(text) > limits::session_task_bytes)
    return error{failure::usage, "the task is longer than " +
                                     std::to_string(limits::session_task_bytes >> 20) + " MiB"};
  if (text.find_first_not_of(" \t\r\n") == std::string::npos)
    return error{failure::usage, "the task is empty"};
  auto first_text = document_.task.empty() ? text : std::string();
  auto turn = turns_.submit(task, std::move(text));
  if (!turn)
    return turn.failed();
  session_effects out;
  if (!first_text.empty()) {
    document_.task = std::move(first_text);
    out.document_changed = true;
  }
  apply(std::move(*turn), out, now);
  update_state(out, now);
  return out;
}

session_effects session::worker_up(instant now) {
  session_effects out;
  if (!ending_)
    out.to_worker.push_back(pi_worker::get_state(ready_id));
  document_.updated_at = now;
  return out;
}

session_effects session::worker_output(std::string_view bytes, instant now) {
  session_effects out;
  const auto buffered = !delta_.empty();
  lines_.feed(
      bytes, [&](std::string_view line) { on_line(line, out, now); },
      [&] {
        flush_delta(out, now);
        out.events.push_back(
            {now, session_events::warning("a line of the worker longer than " +
                                          std::to_string(limits::worker_line_bytes >> 20) +
                                          " MiB was left out")});
      });
  if (!delta_.empty() && !buffered)
    out.arm_flush = true;
  return out;
}

void session::on_line(std::string_view line, session_effects& out, instant now) {
  auto event = pi_worker::parse(line);
  const auto log = [&](std::string json) {
    flush_delta(out, now);
    out.events.push_back({now, std::move(json)});
  };
  struct visitor {
    session& s;
    session_effects& out;
    instant now;
    decltype(log)& log_event;

    void operator()(const pi_worker::response& r) {
      if (r.id == ready_id && !s.worker_ready_) {
        if (!r.success)
          return s.apply_failure(
              {failure::session_failed, "the worker does not answer: " + r.error}, out, now);
        s.worker_ready_ = true;
        if (!r.model.empty() && r.model != "unknown/unknown")
          s.document_.model = r.model;
        out.document_changed = true;
        return s.apply(s.turns_.worker_ready(), out, now);
      }
      s.apply(s.turns_.on(r), out, now);
    }
    void operator()(const pi_worker::run_started& e) { s.apply(s.turns_.on(e), out, now); }
    void operator()(const pi_worker::run_settled& e) {
      s.flush_delta(out, now);
      s.apply(s.turns_.on(e), out, now);
    }
    void operator()(const pi_worker::user_message& m) {
      s.flush_delta(out, now);
      s.apply(s.turns_.on(m), out, now);
    }
    void operator()(pi_worker::assistant_message& m) {
      if (m.stop_reason == "error" || !m.error_message.empty())
        m.error_message =
            explain_model_error(m.error_message, s.document_.model, s.providers_, s.denied_);
      s.denied_ = {};
      log_event(session_events::message(m));
      s.partial_.clear();
      s.document_.usage.input_tokens += m.usage.input_tokens;
      s.document_.usage.output_tokens += m.usage.output_tokens;
      s.document_.usage.cost += m.usage.cost;
      out.document_changed = true;
      s.apply(s.turns_.on(m), out, now);
    }
    void operator()(const pi_worker::text_delta& d) {
      s.delta_ += d.delta;
      if (s.partial_.size() + d.delta.size() <= limits::session_text_bytes)
        s.partial_ += d.delta;
      if (s.delta_.size() >= limits::delta_event_bytes)
        s.flush_delta(out, now);
    }
    void operator()(const pi_worker::tool_started& t) { log_event(session_events::tool_start(t)); }
    void operator()(const pi_worker::tool_ended& t) {
      s.denied_ = {}; // the tool's, not the model's
      log_event(session_events::tool_end(t));
    }
    void operator()(const pi_worker::retry_started& r) {
      s.partial_.clear();
      log_event(session_events::retry(r));
    }
    void operator()(const pi_worker::dialog& d) {
      log_event(session_events::warning("the worker asked \"" + d.title + "\" (" + d.method +
                                        "); nobody is there, answered with cancel"));
      out.to_worker.push_back(pi_worker::cancel_dialog(d.id));
    }
    void operator()(const pi_worker::notice& n) { log_event(session_events::warning(n.text)); }
    void operator()(const pi_worker::unreadable& u) {
      log_event(
          session_events::warning("unreadable line of the worker (" + u.why + "): " + u.excerpt));
    }
    void operator()(const pi_worker::ignored&) {}
  };
  std::visit(visitor{*this, out, now, log}, event);
  update_state(out, now); // per line: what is told must not depend on how bytes arrive
}

void session::apply(turn_effects&& t, session_effects& out, instant now) {
  for (auto& line : t.to_worker)
    out.to_worker.push_back(std::move(line));
  for (auto task : t.accepted)
    if (std::find(out.accepted.begin(), out.accepted.end(), task) == out.accepted.end())
      out.accepted.push_back(task);
  for (auto& b : t.begun) {
    document_.task = std::move(b.text);
    document_.error.clear();
    partial_.clear();
    out.events.push_back({now, session_events::task(b.task, document_.task)});
    out.document_changed = true;
  }
  for (auto& a : t.answers) {
    flush_delta(out, now);
    if (a.sent) {
      if (!a.outcome && a.partial.empty())
        a.partial = partial_;
      partial_.clear();
      if (!a.task_text.empty())
        document_.task = std::move(a.task_text);
      document_.text = a.outcome ? *a.outcome : a.partial;
      document_.error = a.outcome ? std::string() : a.outcome.failed().text;
    }
    out.events.push_back({now, session_events::answered(a)});
    out.document_changed = true;
    out.answers.push_back(std::move(a));
  }
}

void session::flush_delta(session_effects& out, instant now) {
  if (delta_.empty())
    return;
  out.events.push_back({now, session_events::text(delta_)});
  delta_.clear();
}

session_effects session::flush(instant now) {
  session_effects out;
  flush_delta(out, now);
  return out;
}

void session::set_state(session_state s, session_effects& out, instant now) {
  if (document_.state == s)
    return;
  document_.state = s;
  document_.updated_at = now;
  out.document_changed = true;
  out.events.push_back(
      {now, session_events::state(s, is_live(s) ? std::string() : document_.error)});
}

void session::update_state(session_effects& out, instant now) {
  if (out.document_changed)
    document_.updated_at = now;
  if (!is_live(document_.state) || !worker_ready_)
    return;
  set_state(turns_.busy() ? session_state::running : session_state::idle, out, now);
}

void session::worker_errors(std::string_view bytes) {
  if (bytes.size() >= limits::stderr_tail_bytes) {
    stderr_tail_.assign(bytes.substr(bytes.size() - limits::stderr_tail_bytes));
    return;
  }
  stderr_tail_ += bytes;
  // Cut seldom, so that a flood costs one move per tail and not one per write.
  if (stderr_tail_.size() > 2 * limits::stderr_tail_bytes)
    stderr_tail_.erase(0, stderr_tail_.size() - limits::stderr_tail_bytes);
}

error session::worker_lost(const worker_end& end) const {
  std::string why = !failure_.empty()   ? failure_
                    : !end.lost.empty() ? end.lost
                    : worker_ready_     ? "the worker ended by itself (" + to_text(end.exit) + ")"
                                        : "the worker did not start (" + to_text(end.exit) + ")";
  if (!worker_ready_ && end.lost.empty() && !start_hint_.empty())
    why += ": " + start_hint_;
  if (const auto tail = shown_tail(stderr_tail_); !tail.empty())
    why += "\nits last words:\n" + tail;
  return {failure::session_failed, std::move(why)};
}

session_effects session::worker_gone(const worker_end& end, instant now) {
  session_effects out;
  if (!is_live(document_.state))
    return out;
  flush_delta(out, now);
  ending_ = true;
  document_.exit = exit_status(end.exit);
  document_.usage.cpu_seconds = end.cpu_seconds;
  document_.usage.peak_rss_bytes = end.peak_rss_bytes;
  document_.ended_at = now;
  const bool stopped = stopping_ && failure_.empty();
  const auto why = stopped ? not_live() : worker_lost(end);
  const auto before = document_.error;
  apply(turns_.worker_gone(why), out, now);
  // To stop an idle session is no error; a run that was cut short is told of.
  const bool cut_short =
      std::any_of(out.answers.begin(), out.answers.end(), [](const auto& a) { return a.sent; });
  document_.error = !stopped ? why.text : cut_short ? "stopped before it had answered" : before;
  set_state(stopped ? session_state::stopped : session_state::failed, out, now);
  document_.updated_at = now;
  out.document_changed = true;
  out.ended = true;
  return out;
}

session_effects session::abort(instant now) {
  session_effects out;
  if (ending_)
    return out;
  apply(turns_.abort({failure::cancelled, "the run was aborted"}), out, now);
  out.abort_grace = turns_.aborting() ? turns_.aborts() : 0;
  update_state(out, now);
  return out;
}

session_effects session::expire(task_id task, std::uint64_t seconds, instant now) {
  session_effects out;
  if (ending_)
    return out;
  apply(turns_.abort_task(
            task, {failure::timed_out, "timed out after " + std::to_string(seconds) + " s"}),
        out, now);
  out.abort_grace = turns_.aborting() ? turns_.aborts() : 0;
  update_state(out, now);
  return out;
}

session_effects session::network(const std::string& entry_json, instant now) {
  if (auto denied = denied_endpoint(entry_json); !denied.host.empty())
    denied_ = std::move(denied);
  return note(session_events::sandbox("network", entry_json), now);
}

session_effects session::note(std::string event_json, instant now) {
  session_effects out;
  flush_delta(out, now);
  out.events.push_back({now, std::move(event_json)});
  return out;
}

session_effects session::cancel(task_id task, instant now) {
  session_effects out;
  if (ending_)
    return out;
  apply(turns_.abort_task(task, {failure::cancelled, "nobody waits for this task any more"}), out,
        now);
  out.abort_grace = turns_.aborting() ? turns_.aborts() : 0;
  update_state(out, now);
  return out;
}

session_effects session::abort_overdue(std::uint64_t number, instant now) {
  if (ending_ || !turns_.aborting() || number != turns_.aborts())
    return {};
  return fail({failure::session_failed, "the worker did not stop its run within " +
                                            std::to_string(limits::abort_grace.count()) +
                                            " s and was ended"},
              now);
}

session_effects session::start_overdue(instant now) {
  if (ending_ || worker_ready_)
    return {};
  return fail({failure::session_failed, "the worker was not ready after " +
                                            std::to_string(limits::worker_start_timeout.count()) +
                                            " s and was ended"},
              now);
}

session_effects session::stop(instant now) {
  session_effects out;
  if (!is_live(document_.state) || ending_)
    return out;
  flush_delta(out, now);
  ending_ = stopping_ = true;
  out.end_worker = true;
  return out;
}

session_effects session::fail(error why, instant now) {
  session_effects out;
  apply_failure(std::move(why), out, now);
  return out;
}

void session::apply_failure(error why, session_effects& out, instant now) {
  if (!is_live(document_.state) || ending_)
    return;
  flush_delta(out, now);
  ending_ = true;
  failure_ = std::move(why.text);
  out.end_worker = true;
}

} // namespace piorch::orchestration
