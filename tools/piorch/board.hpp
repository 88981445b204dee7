// What `piorch status --watch` draws on a terminal: pending approvals, sessions and
// commands of all orchestrators, in exactly the room there is. Pure; everything in it
// may be hostile and is made safe for a terminal.
#pragma once

#include "ipc/protocol.hpp"
#include "orchestration/session_document.hpp"

#include <map>
#include <string>
#include <vector>

namespace piorch::cli {

struct board {
  std::vector<orchestration::session_document> sessions;
  std::vector<ipc::command_entry> commands; // of sessions' workers too
  std::vector<ipc::approval_request> approvals;
  std::string selected; // the id of an approval; "": none
  std::string note;     // what the last key did
};

struct board_options {
  std::size_t rows = 24;
  std::size_t columns = 80;
  bool colour = false;
  bool keys = true;
  orchestration::instant now;
};

struct drawn_board {
  std::vector<std::string> lines; // without newline, each no wider than the terminal
  // The approval that is drawn as selected, with every word of it: a key may answer
  // it. "": none, or it has no room.
  std::string answerable;
};

drawn_board draw(const board& what, const board_options& options);

} // namespace piorch::cli
