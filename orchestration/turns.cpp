#include "orchestration/turns.hpp"

#include "config/limits.hpp"

#include <algorithm>

namespace piorch::orchestration {

namespace {

// What the last message of a task's run means for its waiter.
result<std::string> outcome_of(const std::optional<pi_worker::assistant_message>& last) {
  if (!last)
    return error{failure::session_failed, "the worker ended the run without an answer"};
  const auto& reason = last->stop_reason;
  if (reason == "error" || !last->error_message.empty())
    return error{failure::session_failed, last->error_message.empty()
                                              ? "the model reported an error without a message"
                                              : last->error_message};
  if (reason == "aborted")
    return error{failure::cancelled, "the run was aborted"};
  if (reason == "length")
    return error{failure::session_failed, "the answer was cut at the model's output limit"};
  if (last->text.find_first_not_of(" \t\r\n") == std::string::npos)
    return error{failure::session_failed, "the model ended its run without any text"};
  return last->text;
}

} // namespace

result<turn_effects> turns::submit(task_id task, std::string text) {
  if (waiting_bytes_ + text.size() > limits::session_queued_bytes)
    return error{failure::limit_reached,
                 "the tasks that wait in this session are too long together (" +
                     std::to_string(limits::session_queued_bytes >> 20) + " MiB)"};
  if (waiting_.size() >= limits::session_queued_tasks)
    return error{failure::limit_reached, "too many tasks wait in this session (" +
                                             std::to_string(limits::session_queued_tasks) + ")"};
  waiting_bytes_ += text.size();
  waiting_.push_back({task, std::move(text)});
  turn_effects out;
  next(out);
  return out;
}

turn_effects turns::worker_ready() {
  turn_effects out;
  ready_ = true;
  next(out);
  return out;
}

turns::queued turns::take(std::deque<queued>::iterator i) {
  auto task = std::move(*i);
  waiting_.erase(i);
  waiting_bytes_ -= task.text.size();
  return task;
}

void turns::next(turn_effects& out) {
  if (!ready_ || current_ || aborting_ || waiting_.empty())
    return;
  auto task = take(waiting_.begin());
  current_ = running{}; // not emplace(): Clang 14 finds a nested class not constructible yet
  current_->task = task.task;
  current_->text = std::move(task.text);
  current_->prompt_id = new_id('p');
  out.to_worker.push_back(pi_worker::prompt(current_->prompt_id, current_->text));
}

turn_effects turns::on(const pi_worker::response& r) {
  turn_effects out;
  if (r.id.empty())
    return out;
  if (current_ && r.id == current_->prompt_id && !current_->accepted) {
    if (!r.success) {
      fail(out,
           {failure::session_failed, r.error.empty() ? "the worker refused the task" : r.error});
      return out;
    }
    if (r.disposition == "handled") { // a command of an extension: no run, no answer
      fail(out,
           {failure::session_failed, "the worker took the task as a command; there is no text"});
      return out;
    }
    current_->accepted = true;
    current_->started = r.disposition != "queued";
    out.accepted.push_back(current_->task);
    if (aborting_)
      send_abort(out); // not before: a prompt in flight and a cleared queue race in Pi
    return out;
  }
  if (aborting_ && r.id == abort_id_) {
    // Pi answers after the run has settled. Had nothing run, nothing settles.
    aborting_ = false;
    abort_id_.clear();
    if (current_)
      finish(out, true);
    next(out);
    return out;
  }
  if (!clear_id_.empty() && r.id == clear_id_) {
    // The prompt that a run left behind in Pi's queue is ours again.
    clear_id_.clear();
    if (current_ && !current_->begun && !aborting_) {
      waiting_bytes_ += current_->text.size();
      waiting_.push_front({current_->task, std::move(current_->text)});
      current_.reset();
    }
    next(out);
  }
  return out;
}

turn_effects turns::on(const pi_worker::user_message&) {
  turn_effects out;
  if (current_ && !current_->begun) {
    current_->begun = true;
    current_->last.reset();
    out.begun.push_back({current_->task, std::move(current_->text)});
    current_->text.clear();
  }
  return out;
}

turn_effects turns::on(const pi_worker::assistant_message& m) {
  // Before the task's own message was seen it answers something else.
  if (current_ && current_->begun)
    current_->last = m;
  return {};
}

turn_effects turns::on(const pi_worker::run_started&) { return {}; }

turn_effects turns::on(const pi_worker::run_settled& s) {
  turn_effects out;
  if (!current_)
    return out;
  if (current_->begun || (current_->accepted && current_->started)) {
    finish(out, s.aborted);
    next(out);
    return out;
  }
  // A run that was not ours ended with our prompt still in its queue, where it
  // would wait for the next prompt: take it back.
  if (current_->accepted && !aborting_ && clear_id_.empty()) {
    clear_id_ = new_id('q');
    out.to_worker.push_back(pi_worker::clear_queue(clear_id_));
  }
  return out;
}

void turns::finish(turn_effects& out, bool settled_aborted) {
  answer a;
  a.task = current_->task;
  a.sent = true;
  a.task_text = std::move(current_->text);
  a.outcome = outcome_of(current_->last);
  if (current_->last)
    a.partial = current_->last->text;
  // A run that was through before the abort reached it keeps its answer.
  const bool complete = bool(a.outcome) && current_->last->stop_reason == "stop";
  if (!complete && current_->aborted)
    a.outcome = *current_->aborted;
  else if (!complete && settled_aborted)
    a.outcome = error{failure::cancelled, "the run was aborted"};
  if (a.outcome)
    a.partial.clear();
  current_.reset();
  out.answers.push_back(std::move(a));
}

void turns::fail(turn_effects& out, error why) {
  if (current_->aborted)
    why = *current_->aborted;
  if (aborting_ && abort_id_.empty())
    aborting_ = false; // there is no run that an abort could end
  out.answers.push_back({current_->task, std::move(why), current_->last ? current_->last->text : "",
                         true, std::move(current_->text)});
  current_.reset();
  next(out);
}

void turns::send_abort(turn_effects& out) {
  // What Pi queued would run with the next prompt; so the queue goes first.
  abort_id_ = new_id('a');
  out.to_worker.push_back(pi_worker::clear_queue(new_id('q')));
  out.to_worker.push_back(pi_worker::abort(abort_id_));
}

turn_effects turns::abort(const error& why) {
  turn_effects out;
  for (auto& task : waiting_)
    out.answers.push_back({task.task, why, {}, false, {}});
  waiting_.clear();
  waiting_bytes_ = 0;
  if (current_) {
    auto more = abort_task(current_->task, why);
    out.to_worker = std::move(more.to_worker);
  }
  return out;
}

turn_effects turns::abort_task(task_id task, const error& why) {
  turn_effects out;
  if (current_ && current_->task == task) {
    if (current_->aborted)
      return out; // the first reason stands
    current_->aborted = why;
    if (!aborting_) {
      aborting_ = true;
      ++aborts_;
      if (current_->accepted)
        send_abort(out);
    }
    return out;
  }
  const auto i =
      std::find_if(waiting_.begin(), waiting_.end(), [&](const auto& q) { return q.task == task; });
  if (i != waiting_.end()) {
    (void)take(i);
    out.answers.push_back({task, why, {}, false, {}});
  }
  return out;
}

turn_effects turns::worker_gone(const error& why) {
  turn_effects out;
  ready_ = false;
  aborting_ = false;
  if (current_) {
    out.answers.push_back({current_->task, current_->aborted ? *current_->aborted : why,
                           current_->last ? current_->last->text : "", true,
                           std::move(current_->text)});
    current_.reset();
  }
  for (auto& task : waiting_)
    out.answers.push_back({task.task, why, {}, false, {}});
  waiting_.clear();
  waiting_bytes_ = 0;
  return out;
}

} // namespace piorch::orchestration
