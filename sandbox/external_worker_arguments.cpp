#include "sandbox/external_worker_examiner.hpp"

#include "sandbox/files.hpp"

#include <sys/stat.h>
#include <unistd.h>

namespace piorch::sandbox {

namespace {

constexpr std::size_t task_bytes = 8u << 20;
constexpr std::size_t task_outputs = 8;

} // namespace

void worker_examiner::read_arguments() {
  const auto& words = from_.arguments;
  for (std::size_t i = 0; i < words.size(); ++i) {
    const std::string& word = words[i];
    const bool last = i + 1 == words.size();
    const auto is = [&](const char* flag) { return word == flag && !last; };
    if (is("--session"))
      session_file(words[++i]);
    else if (is("--session-dir"))
      session_directory("--session-dir", words[++i]);
    else if (is("--extension"))
      code(words[++i], "an extension of this worker");
    else if (is("--system-prompt") || is("--append-system-prompt"))
      prompt(word, words[++i]);
    else if (is("--model"))
      out_.model = words[++i];
    else if (is("--mode") || is("--tools"))
      ++i;
    else if (last && starts_with(word, "@/")) {
      prompt("the task", word.substr(1));
      read_task(read_small_file(word.substr(1), task_bytes).value_or(""));
    } else if (last)
      read_task(word);
  }
}

// Pi takes what is no file for the prompt itself: then the worker would run without its
// agent's instructions, and nobody would notice.
void worker_examiner::prompt(const std::string& what, const std::string& path) {
  if (path.empty() || path.front() != '/')
    return; // text
  if (!exists(path))
    return fail(what, path, "does not exist");
  const std::string directory = run_file(what, path);
  if (!directory.empty())
    rule(access::protect, join(directory, path.substr(path.rfind('/') + 1)),
         "what this worker is told to do");
}

// TMPDIR/pi-subagent-XXXXXX, where the prompt and small reports of one launch are.
std::string worker_examiner::run_file(const std::string& what, const std::string& path) {
  const auto directory = canonical(parent_of(path));
  if (!directory || parent_of(*directory) != from_.temp_dir ||
      !starts_with(relative_to(*directory, from_.temp_dir), "pi-subagent-") ||
      !is_own(*directory)) {
    fail(what, path, "is not in a directory of pi-subagents in " + from_.temp_dir);
    return {};
  }
  rule(access::write, *directory, "prompt, task and reports of this launch");
  return *directory;
}

void worker_examiner::session_file(const std::string& path) {
  const auto directory = canonical(parent_of(path));
  if (!directory)
    return fail("--session", path, "has no directory");
  if (is_run_directory_of_sessions(*directory))
    return session_directory("--session", *directory);
  // A session that was forked off its parent's lies beside it: that file and no other.
  const std::string file = join(*directory, path.substr(path.rfind('/') + 1));
  const auto st = look(file);
  if (!is_within(file, sessions_) || !st || !S_ISREG(st->st_mode) || st->st_uid != ::geteuid())
    return fail("--session", path, "is not a session in " + sessions_);
  rule(access::write, file, "the session of this worker");
}

// sessions/PROJECT/PARENT/…: of one parent session.
bool worker_examiner::is_run_directory_of_sessions(const std::string& directory) const {
  if (is_within(directory, sessions_))
    return parts_of(relative_to(directory, sessions_)).size() >= 3;
  if (is_within(directory, from_.temp_dir))
    return starts_with(relative_to(directory, from_.temp_dir), "pi-subagent-session-");
  return is_within(directory, from_.workspace) && directory != from_.workspace;
}

void worker_examiner::session_directory(const char* what, const std::string& path) {
  const auto directory = canonical(path);
  if (!directory || !is_own(*directory) || !is_run_directory_of_sessions(*directory))
    return fail(what, path,
                "is not a directory of a parent's session in " + sessions_ + " or in " +
                    from_.temp_dir);
  if (is_within(*directory, from_.workspace))
    return;
  rule(access::write, *directory, "the session of this worker");
  artifacts(*directory);
}

// sessions/PROJECT/PARENT/RUN/run-N belongs to sessions/PROJECT/subagent-artifacts; without a
// parent's session they are with the other run directories.
void worker_examiner::artifacts(const std::string& session) {
  std::string place = join(runs_, "artifacts");
  if (is_within(session, sessions_)) {
    const auto parts = parts_of(relative_to(session, sessions_));
    place = join(join(sessions_, parts[0]), "subagent-artifacts");
  }
  outputs_of(join(place, "outputs"), std::string(from_.variables.value("PI_SUBAGENT_RUN_ID")));
  outputs_ = join(place, "outputs");
}

void worker_examiner::outputs_of(const std::string& outputs, const std::string& run) {
  if (!is_plain_name(run))
    return;
  if (const std::string directory = join(outputs, run); make_way(directory) && is_own(directory))
    rule(access::write, directory, "outputs of this run");
}

// Where a worker is to write its report is said in its task only: the run of a workflow has
// another name than those of its workers.
void worker_examiner::read_task(const std::string& task) {
  const std::string start = outputs_ + "/";
  std::size_t at = outputs_.empty() ? std::string::npos : task.find(start);
  for (std::size_t n = 0; at != std::string::npos && n < task_outputs; ++n) {
    at += start.size();
    outputs_of(outputs_, task.substr(at, task.find('/', at) - at));
    at = task.find(start, at);
  }
}

} // namespace piorch::sandbox
