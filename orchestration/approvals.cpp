#include "orchestration/approvals.hpp"

namespace piorch::orchestration {

namespace {

constexpr std::size_t waiting_max = 256; // of all sandboxes of an orchestrator

approval_verdict denied(const char* source, std::string reason) {
  return {false, source, std::move(reason)};
}

} // namespace

void approvals::show(const std::string& id, pending& p, client to, effects& out) {
  if (p.shown_to.insert(to).second)
    out.show.push_back({to, id});
}

// Everybody who still looks at it, but the one who knows, is told that it is over.
void approvals::close(position at, std::optional<client> except, effects& out) {
  for (const client who : at->second.shown_to)
    if (who != except)
      out.withdraw.push_back({who, at->first});
  waiting_.erase(at);
}

void approvals::settle(position at, approval_verdict verdict, std::optional<client> by,
                       effects& out) {
  out.settle.push_back({at->first, std::move(verdict)});
  close(at, by, out);
}

approvals::effects approvals::join(client who) {
  effects out;
  approving_.insert(who);
  for (auto& [id, p] : waiting_)
    if (!p.owner || approving_.count(*p.owner) == 0 || *p.owner == who)
      show(id, p, who, out);
  return out;
}

approvals::effects approvals::leave(client who) {
  effects out;
  approving_.erase(who);
  for (auto at = waiting_.begin(); at != waiting_.end();) {
    const auto here = at++;
    auto& p = here->second;
    if (p.shown_to.erase(who) == 0 || !p.shown_to.empty())
      continue;
    for (const client other : approving_)
      show(here->first, p, other, out);
    if (p.shown_to.empty())
      settle(here, denied("approverLeft", "the client that could answer has left"), {}, out);
  }
  return out;
}

approvals::effects approvals::ask(const std::string& id, approval_question question,
                                  std::optional<client> owner) {
  effects out;
  if (waiting_.count(id) != 0 || waiting_.size() >= waiting_max || approving_.empty()) {
    out.settle.push_back(
        {id, approving_.empty() ? denied("noApprover", "no rule allows it and nobody can be asked")
                                : denied("tooManyRequests",
                                         "too many requests for approval are waiting already")});
    return out;
  }
  auto& p = waiting_[id];
  p = {std::move(question), owner, {}};
  if (owner && approving_.count(*owner) != 0)
    show(id, p, *owner, out);
  else
    for (const client who : approving_)
      show(id, p, who, out);
  return out;
}

result<approvals::effects> approvals::answer(const std::string& id, approval_verdict verdict,
                                             std::optional<client> by) {
  const auto at = waiting_.find(id);
  if (at == waiting_.end())
    return error{failure::unknown_approval,
                 "no such approval request waits: it was answered, has expired or is gone"};
  if (verdict.source.empty())
    verdict.source = "approval";
  effects out;
  settle(at, std::move(verdict), by, out);
  return out;
}

approvals::effects approvals::cancel(const std::string& id) {
  effects out;
  if (const auto at = waiting_.find(id); at != waiting_.end())
    close(at, {}, out);
  return out;
}

} // namespace piorch::orchestration
