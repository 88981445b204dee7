#include "actors/approval_desk.hpp"

#include "actors/approval.hpp"
#include "actors/failures.hpp"
#include "orchestration/host_access.hpp"
#include "sandbox/remote_question.hpp"

namespace piorch::actors {

namespace {

std::optional<std::string> unless_empty(const std::string& text) {
  return text.empty() ? std::nullopt : std::optional(text);
}

std::string cut(std::string text) {
  if (text.size() <= orchestration::shown_command_bytes)
    return text;
  std::size_t end = orchestration::shown_command_bytes;
  while (end > 0 && (static_cast<unsigned char>(text[end]) & 0xc0) == 0x80)
    --end; // not within a character
  return text.substr(0, end) + "…";
}

} // namespace

approval_desk_state::~approval_desk_state() {
  for (const auto& [id, question] : open_)
    tell(question.clock, approval_withdrawn{});
}

// -- clients --------------------------------------------------------------------

void approval_desk_state::join(const caf::actor& who) {
  if (numbers_.count(who) != 0)
    return;
  const auto number = ++last_client_;
  numbers_.emplace(who, number);
  clients_.emplace(number, who);
  watches_.add(self_, who, [this, who, number](const caf::error&) {
    numbers_.erase(who);
    clients_.erase(number);
    apply(book_.leave(number));
  });
  apply(book_.join(number));
}

caf::result<done> approval_desk_state::answer(const answer_pending& what) {
  const auto by = numbers_.find(what.by);
  auto effects = book_.answer(
      what.id,
      {what.decision.allow, what.decision.source.value_or(""), what.decision.reason.value_or("")},
      by == numbers_.end() ? std::nullopt : std::optional(by->second));
  if (!effects)
    return refusal({effects.failed().code, effects.failed().text + " (" + what.id + ")"});
  apply(*effects);
  return done{};
}

caf::result<ipc::approval_list_result>
approval_desk_state::list(const ipc::approval_list_params& what) {
  if (what.after != revision_)
    return everything();
  return watching_.add(self_, watches_, what);
}

// -- who asks -------------------------------------------------------------------

void approval_desk_state::ask(const approval_wanted& what) {
  const auto number = ++last_question_;
  const auto id = id_of(number);
  if (!ids_.emplace(asked{what.asker, what.asker_id}, id).second)
    return; // asked before
  if (askers_.insert(what.asker).second)
    watches_.add(self_, what.asker,
                 [this, asker = what.asker](const caf::error&) { asker_gone(asker); });
  const auto clock = self_->spawn(
      approval_actor, approval_owner_handle(approval_desk_handle(self_)), number, what.time_limit);
  open_.emplace(id, open_question{what.asker, what.asker_id, clock});
  auto question = what.question;
  question.command = cut(std::move(question.command));
  question.expires_at = orchestration::to_text(options_.now() + what.time_limit);
  const auto owner = numbers_.find(what.owner);
  apply(book_.ask(id, std::move(question),
                  owner == numbers_.end() ? std::nullopt : std::optional(owner->second)));
}

void approval_desk_state::withdraw(const approval_unwanted& what) {
  if (const auto at = ids_.find({what.asker, what.asker_id}); at != ids_.end())
    cancel(std::string(at->second));
}

void approval_desk_state::asker_gone(const caf::actor& asker) {
  askers_.erase(asker);
  std::vector<std::string> ids;
  for (auto at = ids_.lower_bound({asker, {}}); at != ids_.end() && at->first.first == asker; ++at)
    ids.push_back(at->second);
  for (const auto& id : ids)
    cancel(id);
}

void approval_desk_state::settled(const approval_settled& outcome) {
  const auto& a = outcome.answer;
  if (outcome.withdrawn)
    return;
  if (auto effects = book_.answer(id_of(outcome.id), {a.allow, a.source, a.reason}))
    apply(*effects);
}

// -- carrying out ----------------------------------------------------------------

void approval_desk_state::apply(const orchestration::approvals::effects& effects) {
  for (const auto& s : effects.show)
    tell(self_, caf::actor_cast<client_handle>(clients_.at(s.to)),
         approval_shown{request_of(s.id)});
  for (const auto& s : effects.withdraw)
    if (const auto to = clients_.find(s.to); to != clients_.end())
      tell(self_, caf::actor_cast<client_handle>(to->second), approval_over{s.id});
  for (const auto& s : effects.settle) {
    const auto& question = open_.at(s.id);
    tell(self_, caf::actor_cast<approval_asker_handle>(question.asker),
         answer_approval{question.asker_id,
                         {s.verdict.allow, s.verdict.source, unless_empty(s.verdict.reason)}});
    forget(s.id);
  }
  changed();
}

void approval_desk_state::cancel(const std::string& id) {
  apply(book_.cancel(id));
  forget(id);
}

void approval_desk_state::forget(const std::string& id) {
  const auto at = open_.find(id);
  if (at == open_.end())
    return;
  tell(self_, at->second.clock, approval_withdrawn{}); // too late for its own answer
  ids_.erase({at->second.asker, at->second.asker_id});
  open_.erase(at);
}

std::string approval_desk_state::id_of(std::uint64_t number) const {
  return options_.id_prefix + std::to_string(number);
}

ipc::approval_request approval_desk_state::request_of(const std::string& id) const {
  const auto& q = book_.waiting().at(id).question;
  ipc::approval_request r;
  r.id = id;
  r.surface = q.surface;
  r.operation = q.operation;
  r.destination = unless_empty(q.destination);
  r.command = q.command;
  r.cwd = q.cwd;
  r.session_id = unless_empty(q.session_id);
  r.agent_name = unless_empty(q.agent_name);
  r.matched_policy = unless_empty(q.matched_policy);
  r.warning = unless_empty(q.warning);
  r.expires_at = q.expires_at;
  return r;
}

ipc::approval_list_result approval_desk_state::everything() const {
  ipc::approval_list_result out;
  for (const auto& [id, pending] : book_.waiting())
    out.approvals.push_back(request_of(id));
  out.revision = revision_;
  return out;
}

void approval_desk_state::changed() {
  ++revision_;
  using answer = result<ipc::approval_list_result>;
  watching_.changed([&](const auto&) { return std::optional<answer>(everything()); });
}

approval_desk_handle::behavior_type approval_desk_actor(approval_desk_state::pointer self,
                                                        approval_desk_options options) {
  harden(self);
  state(self).begin(std::move(options));
  return {
      [=](const approval_settled& outcome) { state(self).settled(outcome); },
      [=](const join_approvers& join) { state(self).join(join.client); },
      [=](const approval_wanted& what) { state(self).ask(what); },
      [=](const approval_unwanted& what) { state(self).withdraw(what); },
      [=](const answer_pending& what) { return state(self).answer(what); },
      [=](const ipc::approval_list_params& what) { return state(self).list(what); },
  };
}

void pass_to_desk(const approval_desk_handle& desk, const broker_event& event,
                  orchestration::approval_question about, const caf::actor& owner,
                  const remote_broker_handle& asker) {
  const auto who = caf::actor_cast<caf::actor>(asker);
  if (event.what == ipc::frame_type::approval_ask) {
    auto question = sandbox::read_question(event.json);
    if (!question)
      return; // the broker denies when its time is over
    about.surface = "network";
    about.operation = "connect";
    about.destination = question->destination;
    tell(desk, approval_wanted{question->id, std::move(about), question->time_limit, owner, who});
  } else if (event.what == ipc::frame_type::approval_cancel) {
    if (auto id = sandbox::read_withdrawal(event.json))
      tell(desk, approval_unwanted{std::move(*id), who});
  }
}

std::function<void(const orchestration::session_document&, const broker_event&,
                   const remote_broker_handle&)>
approvals_of_sessions(approval_desk_handle desk) {
  return [desk = std::move(desk)](const orchestration::session_document& session,
                                  const broker_event& event, const remote_broker_handle& asker) {
    orchestration::approval_question about;
    about.command = session.task; // which of its tools it is, only the worker knows
    about.cwd = session.cwd;
    about.session_id = session.id;
    about.agent_name = session.name;
    pass_to_desk(desk, event, std::move(about), {}, asker);
  };
}

} // namespace piorch::actors
