// What the commands of an orchestrator were refused: of those that run and of the last that have
// ended, bounded. Takes the time as text; no actor.
#pragma once

#include "config/result.hpp"
#include "ipc/protocol.hpp"

#include <list>
#include <string>

namespace piorch::actors {

class command_records {
public:
  static constexpr std::size_t commands_max = 128; // then the one that ended first is forgotten
  static constexpr std::size_t facts_max = 200;    // of one command

  void begin(const std::string& id, const std::string& own_id, const std::string& command,
             const std::string& cwd, std::string now);
  void note(const std::string& id, ipc::network_entry connection);
  void note(const std::string& id, ipc::refused_path refused);
  void end(const std::string& id, std::string now);

  // By our id, or the youngest with that id of its client's.
  result<ipc::command_report_result> find(const std::string& id) const;

private:
  struct record {
    ipc::command_report_result what;
    std::string own_id;
  };
  ipc::command_report_result* with_room(const std::string& id);

  std::list<record> all_; // the youngest first
};

} // namespace piorch::actors
