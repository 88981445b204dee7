// The book of approval requests that wait for an answer: who is shown what, and
// what settles it. Pure: effects come out as values, the clock is the caller's. The
// first answer wins, and a request that nobody can be shown is denied at once
// (contract, sections 5, 6 and 8).
#pragma once

#include "config/result.hpp"

#include <cstdint>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <vector>

namespace piorch::orchestration {

struct approval_question {
  std::string surface;   // "network", "host-ipc"
  std::string operation; // "connect", "execute-host"
  std::string destination;
  std::string command;
  std::string cwd;
  std::string session_id;
  std::string agent_name;
  std::string matched_policy;
  std::string warning;
  std::string expires_at; // ISO 8601, for whoever is shown it
};

struct approval_verdict {
  bool allow = false;
  // "approval", "approvalTimeout", "noApprover", "tooManyRequests", "approverLeft"
  std::string source;
  std::string reason;
};

class approvals {
public:
  using client = std::uint64_t; // a connection that may answer

  struct pending {
    approval_question question;
    std::optional<client> owner; // whose command or session it is
    std::set<client> shown_to;
  };

  // What the caller has to do, in this order.
  struct effects {
    struct shown {
      client to;
      std::string id;
    };
    struct settled {
      std::string id;
      approval_verdict verdict;
    };
    std::vector<shown> show;     // approval.request
    std::vector<shown> withdraw; // approval.cancelled
    std::vector<settled> settle; // tell whoever asked
  };

  // A client with capabilities.approvals; it is shown what no owner is looking at.
  effects join(client who);
  // What only it was shown goes to the others, or is denied.
  effects leave(client who);

  // Takes the question under `id` (unused so far). To the owner if that approves,
  // else to every approving client; denied at once if there is none or
  // 256 wait already.
  effects ask(const std::string& id, approval_question question, std::optional<client> owner);

  // The first answer: from whoever sees the book (a client that was not shown it may
  // answer through approval.answer), or from the clock. failure::unknown_approval for
  // the second one.
  result<effects> answer(const std::string& id, approval_verdict verdict,
                         std::optional<client> by = {});

  // The connection or command is gone; nothing is settled. Unknown ids are ignored.
  effects cancel(const std::string& id);

  const std::map<std::string, pending>& waiting() const { return waiting_; }

private:
  using position = std::map<std::string, pending>::iterator;
  void show(const std::string& id, pending& p, client to, effects& out);
  void close(position at, std::optional<client> except, effects& out);
  void settle(position at, approval_verdict verdict, std::optional<client> by, effects& out);

  std::set<client> approving_;
  std::map<std::string, pending> waiting_;
};

} // namespace piorch::orchestration
