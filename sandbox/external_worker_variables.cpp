#include "sandbox/external_worker_examiner.hpp"

#include "ipc/base64.hpp"
#include "ipc/json_text.hpp"
#include "ipc/unique_fd.hpp"
#include "sandbox/files.hpp"

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstring>
#include <fcntl.h>
#include <nlohmann/json.hpp>

namespace piorch::sandbox {

namespace {

constexpr std::size_t budget_bytes = 8192;

} // namespace

void worker_examiner::read_variables() {
  for (const char* name : {"PI_SUBAGENT_SUPERVISOR_CHANNEL_DIR", "PI_SUBAGENT_STEER_INBOX",
                           "PI_SUBAGENT_STEER_ACK_DIR"})
    run_directory(name, value(name));
  if (const auto file = value("PI_SUBAGENT_STEER_CAPABILITY"); !file.empty())
    run_directory("PI_SUBAGENT_STEER_CAPABILITY", parent_of(file));
  for (const char* name : {"PI_SUBAGENT_PARENT_EVENT_SINK", "PI_SUBAGENT_PARENT_CONTROL_INBOX"})
    if (const auto path = value(name); !path.empty())
      run_directory(name, parent_of(path));
  budget(value("PI_SUBAGENT_RUN_FANOUT_BUDGET"));
  for (const char* name :
       {"PI_SUBAGENT_RUNTIME_ACKNOWLEDGED_EXTENSIONS", "PI_SUBAGENT_TOOL_DIAGNOSTIC_PATH"})
    if (const auto path = value(name); !path.empty())
      run_file(name, path);
  structured_output(value("PI_SUBAGENT_STRUCTURED_OUTPUT_CAPTURE"));
  permission_audit(value("PI_SUBAGENT_PERMISSION_AUDIT_PATH"));
  permission_requests();
}

std::string worker_examiner::value(const char* name) const {
  return std::string(from_.variables.value(name));
}

// Below TMPDIR/pi-subagents-uid-N: what belongs to one run, never what belongs to all.
bool worker_examiner::is_run_place(const std::string& path) const {
  if (!is_within(path, runs_))
    return false;
  const auto parts = parts_of(relative_to(path, runs_));
  constexpr std::array shared{"supervisor-channels", "nested-subagent-events", "run-fanout-budgets",
                              "chain-runs"};
  if (parts.size() >= 2 &&
      std::any_of(shared.begin(), shared.end(), [&](const char* s) { return parts[0] == s; }))
    return true;
  const bool is_run = parts.size() >= 4 &&
                      (parts[0] == "async-subagent-runs" || parts[0] == "nested-subagent-runs");
  return is_run && (parts[2] == "control" || parts[2] == "structured-output" ||
                    parts[3] == "control" || parts[3] == "structured-output");
}

void worker_examiner::run_directory(const char* name, const std::string& path) {
  if (path.empty())
    return;
  const auto parent = path.front() == '/' ? canonical_way(path) : std::nullopt;
  if (!parent || !is_run_place(*parent) || !make_way(*parent) || !is_own(*parent))
    return fail(name, path, "is not a directory of one run in " + runs_);
  rule(access::write, *parent, "a directory of this run");
}

// base64url of {"directory": …}
void worker_examiner::budget(std::string text) {
  constexpr const char* name = "PI_SUBAGENT_RUN_FANOUT_BUDGET";
  if (text.empty())
    return;
  std::replace(text.begin(), text.end(), '-', '+');
  std::replace(text.begin(), text.end(), '_', '/');
  while (text.size() % 4 != 0)
    text += '=';
  nlohmann::json body;
  const auto bytes = text.size() <= budget_bytes ? ipc::decode_base64(text) : std::nullopt;
  if (bytes)
    ipc::parse_json(*bytes, body);
  const auto at = body.is_object() ? body.find("directory") : body.end();
  if (!body.is_object() || at == body.end() || !at->is_string())
    return fail(name, text.substr(0, 40), "names no directory");
  run_directory(name, at->get<std::string>());
}

void worker_examiner::structured_output(const std::string& file) {
  constexpr const char* name = "PI_SUBAGENT_STRUCTURED_OUTPUT_CAPTURE";
  if (file.empty())
    return;
  const auto directory = canonical(parent_of(file));
  const bool known =
      directory && is_own(*directory) &&
      starts_with(directory->substr(directory->rfind('/') + 1), "pi-subagent-structured-") &&
      (parent_of(*directory) == from_.temp_dir || is_run_place(*directory) ||
       is_artifact(*directory) || is_within(*directory, from_.workspace));
  if (!known)
    return fail(name, file, "is not in a directory of pi-subagents");
  if (is_within(*directory, from_.workspace))
    return;
  rule(access::write, *directory, "the structured output of this worker");
  if (exists(join(*directory, "schema.json")))
    rule(access::protect, join(*directory, "schema.json"), "the form of the structured output");
}

// …/subagent-artifacts/KIND/…
bool worker_examiner::is_artifact(const std::string& path) const {
  if (is_within(path, join(runs_, "artifacts")))
    return parts_of(relative_to(path, join(runs_, "artifacts"))).size() >= 2;
  const auto parts = is_within(path, sessions_) ? parts_of(relative_to(path, sessions_))
                                                : std::vector<std::string>();
  return parts.size() >= 4 &&
         std::find(parts.begin(), parts.end() - 1, "subagent-artifacts") != parts.end() - 1;
}

// Others' audits are beside it: this file and no other.
void worker_examiner::permission_audit(const std::string& file) {
  constexpr const char* name = "PI_SUBAGENT_PERMISSION_AUDIT_PATH";
  if (file.empty())
    return;
  const auto place = file.front() == '/' ? canonical_way(file) : std::nullopt;
  if (place && parent_of(parent_of(*place)) == from_.temp_dir)
    return void(run_file(name, file));
  if (!place || !is_artifact(*place) || !make_way(parent_of(*place)))
    return fail(name, file, "is not among the artifacts of pi-subagents");
  const ipc::unique_fd made(
      ::open(place->c_str(), O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC | O_NONBLOCK, 0600));
  if (!made)
    return fail(name, file, std::string("cannot be made: ") + std::strerror(errno));
  rule(access::write, *place, "the permission audit of this worker");
}

// Where the permission extension leaves the questions of workers for the session that a person
// looks at, and finds the answers. Only where it is installed.
void worker_examiner::permission_requests() {
  const std::string session = value("PI_SUBAGENT_PARENT_SESSION");
  const bool installed =
      exists(join(from_.agent_dir, "npm/node_modules/@gotgenes/pi-permission-system")) ||
      exists(join(from_.agent_dir, "extensions/pi-permission-system"));
  if (session.empty() || !installed)
    return;
  if (!is_plain_name(session))
    return fail("PI_SUBAGENT_PARENT_SESSION", session, "is no name of a session");
  const std::string place = join(join(sessions_, "permission-forwarding/sessions"), session);
  if (canonical_way(place) != place || !make_way(place) || !is_own(place))
    return fail("the directory for permission requests", place, "cannot be used");
  rule(access::write, place, "permission requests to this session");
}

} // namespace piorch::sandbox
