// The workers of pi-subagents that one Pi session has signed in, as far as rules go: which
// directories they may have, whose questions count, how many there may be, and how each ended.
// Takes events and time, keeps everything bounded. Pure; one thread.
#pragma once

#include "config/result.hpp"
#include "orchestration/instant.hpp"

#include <cstdint>
#include <deque>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <sys/types.h>
#include <vector>

namespace piorch::orchestration {

// How a worker ended, as its wrapper says it; nothing: the wrapper was killed, or said nothing.
struct external_exit {
  std::optional<int> exit_code;
  std::optional<int> signal;
  std::string reason;
};

struct external_worker {
  std::string id;
  std::string cwd;
  std::string agent;
  std::string run;
  std::string parent; // the worker in whose sandbox it runs; empty: one of its own
  pid_t pid = 0;      // of the wrapper; 0: not known

  enum class state_type { running, completed, failed, stopped };
  state_type state = state_type::running;
  instant started_at;
  std::optional<instant> ended_at;
  external_exit exit;
  std::uint64_t questions = 0; // that it has asked
};
const char* name_of(external_worker::state_type state);

class external_workers {
public:
  static constexpr std::size_t active_max = 64;  // all of a Pi session
  static constexpr std::size_t nested_max = 16;  // in one sandbox
  static constexpr std::size_t ended_kept = 256; // their ids are not given again
  static constexpr std::size_t ids_kept = 4096;  // of frames, against repetition

  // `project` and `worktrees` are where workers may run: in that directory or below, and in
  // directories called pi-worktree-* in one of those. All absolute and canonical.
  external_workers(std::string project, std::vector<std::string> worktrees);

  // False: a frame of this id was accepted before.
  bool take_frame_id(const std::string& id);

  // `link` is the connection; `leased`: the worker lives as long as that. Refusals say why
  // (failure::usage, failure::limit_reached).
  result<done> add(external_worker worker, std::uint64_t link, bool leased, instant now);
  // A question of a running worker counts; nullptr: it is none, or says another directory.
  const external_worker* question(const std::string& id, const std::string& cwd);
  // Ends it, and those in its sandbox. The ones that ended, the lead first; nothing: no such
  // running worker.
  std::vector<external_worker> end(const std::string& id, const std::string& cwd,
                                   const external_exit& how, instant now);
  // The connection is gone, and with it whoever was leased to it.
  std::vector<external_worker> link_closed(std::uint64_t link, instant now);

  std::size_t active() const { return active_.size(); }
  std::uint64_t added() const { return added_; }

private:
  struct entry {
    external_worker worker;
    std::uint64_t link = 0;
    bool leased = false;
  };
  bool may_work_in(const std::string& cwd) const;
  result<done> check(const external_worker& worker, std::uint64_t link) const;
  std::vector<external_worker> finish(const std::string& id, const external_exit& how, instant now);

  std::string project_;
  std::vector<std::string> worktrees_;
  std::map<std::string, entry> active_;
  std::set<std::string> ended_, ids_;
  std::deque<std::string> ended_order_, id_order_;
  std::uint64_t added_ = 0;
};

} // namespace piorch::orchestration
