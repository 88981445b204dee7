// How examine_external_worker() (external_worker.hpp) finds what a worker needs: by its
// arguments (external_worker_arguments.cpp), its variables (external_worker_variables.cpp) and
// the code it is made of (external_worker_code.cpp). Of each source what pi-subagents gives is
// known and taken; a place that is not where pi-subagents puts such things ends the search with
// the reason. For those files alone; any thread.
#pragma once

#include "sandbox/external_worker.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace piorch::sandbox {

class worker_examiner {
public:
  explicit worker_examiner(const external_worker_inputs& from);

  // Once.
  result<external_worker> run();

private:
  // The first problem is kept: "WHAT is PATH, which WHY".
  void fail(const std::string& what, const std::string& path, const std::string& why);
  void rule(access what, const std::string& path, const char* reason);

  // The agent directory and the temporary one.
  void own_directories();
  void show_agent_directory();

  void read_arguments();
  void prompt(const std::string& what, const std::string& path);
  std::string run_file(const std::string& what, const std::string& path);
  void session_file(const std::string& path);
  bool is_run_directory_of_sessions(const std::string& directory) const;
  void session_directory(const char* what, const std::string& path);
  void artifacts(const std::string& session);
  void outputs_of(const std::string& outputs, const std::string& run);
  void read_task(const std::string& task);

  void read_variables();
  std::string value(const char* name) const;
  bool is_run_place(const std::string& path) const;
  void run_directory(const char* name, const std::string& path);
  void budget(std::string text);
  void structured_output(const std::string& file);
  bool is_artifact(const std::string& path) const;
  void permission_audit(const std::string& file);
  void permission_requests();

  void read_programs();
  void code(const std::string& path, const char* reason);
  void linked_packages();

  const external_worker_inputs& from_;
  std::string sessions_;              // of the agent directory
  std::string outputs_;               // of this session's artifacts; empty: it has none
  std::string runs_;                  // TMPDIR/pi-subagents-uid-N
  std::vector<std::string> too_much_; // no code is shown by showing one of these
  external_worker out_;
  std::string problem_;
};

// -- paths, for all of them ----------------------------------------------------------------

bool starts_with(std::string_view text, std::string_view start);

// One name, of which no path can be made that leads elsewhere.
bool is_plain_name(std::string_view name);

// Of a relative path.
std::vector<std::string> parts_of(const std::string& relative);

// The place that an absolute path means, although the end of it does not exist yet.
std::optional<std::string> canonical_way(const std::string& path);

// Makes what is missing of a directory, as pi-subagents would.
bool make_way(const std::string& path);

// A directory of this user's.
bool is_own(const std::string& path);

} // namespace piorch::sandbox
