// Lists that every orchestrator of the user keeps (sessions, approvals …), as they are
// and as they change. Nothing is polled: each list is asked for with {"after": revision}
// and answered when there is news, and an orchestrator that comes up later is seen in
// the directory of instances. Main thread.
#pragma once

#include "ipc/start_instance.hpp"
#include "tools/piorch/instances.hpp"

#include <chrono>
#include <cstdint>
#include <functional>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <vector>

namespace piorch::cli {

class instance_watch {
public:
  // The orchestrator that an answer is of: its pid.
  using instance = std::int64_t;

  struct list {
    // The request for what is new after a revision; nothing: for all there is.
    std::function<ipc::rpc_call(std::optional<std::uint64_t> after)> ask;
    // An answer. Gives the revision that it holds; on an error that orchestrator is
    // left alone from then on, as one that has ended.
    std::function<result<std::uint64_t>(instance of, const nlohmann::json& answer)> take;
  };

  // `lost`: an orchestrator has ended (or makes no sense); its lists with it. With
  // answers::yes requests for approval wait while this watches; a list shows them.
  instance_watch(const ipc::instance_directory& directory, std::vector<list> lists,
                 std::function<void(instance)> lost, answers approvals = answers::no);

  // Takes all lists of `there` and of every other orchestrator that is alive, once.
  void look(std::vector<ipc::connected> there);
  // Before look(): changes will be told by wait().
  result<done> begin();

  enum class event {
    news,     // some list was taken, or an orchestrator lost
    too_late, // the time is over
    closed,   // nobody reads our stdout any more
    woken,    // one of `wake` is readable
  };
  event wait(std::optional<ipc::client::clock::time_point> until = {},
             const std::vector<int>& wake = {});

  // Asks every orchestrator for the whole of all lists again.
  void ask_again();

private:
  struct place {
    ipc::connected at;
    std::vector<std::optional<long long>> asked; // by list: until the answer comes
    bool lost = false;
  };

  void add(ipc::connected there);
  void ask(place& p, std::size_t which, std::optional<std::uint64_t> after);
  bool take(place& p, ipc::rpc_message& message);
  void drop_lost();

  const ipc::instance_directory& directory_;
  std::vector<list> lists_;
  std::function<void(instance)> lost_;
  answers approvals_;
  ipc::unique_fd births_; // inotify
  std::vector<place> places_;
};

} // namespace piorch::cli
