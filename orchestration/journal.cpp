#include "orchestration/journal.hpp"

#include "orchestration/json_text.hpp"
#include "orchestration/session_events.hpp"
#include "orchestration/session_id.hpp"

#include <nlohmann/json.hpp>

#include <algorithm>
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

namespace piorch::orchestration {

using nlohmann::json;

namespace {

constexpr std::size_t document_bytes = 1u << 20;
constexpr std::size_t result_bytes = 2 * limits::session_text_bytes + (1u << 20);
constexpr std::string_view unfinished =
    ".new-"; // a session's directory until its document is in it
constexpr std::chrono::minutes creation_time{1};

result<session_document> document_in(int dir) {
  const auto text = read_file(dir, journal_files::document, document_bytes);
  if (!text)
    return text.failed();
  const auto j = parse(*text, limits::worker_json_depth, limits::worker_json_values);
  if (!j)
    return error{failure::fault, "session.json is not JSON"};
  return session_document_from(*j);
}

// The newest text that the events tell of, and the number after the last one.
struct told {
  std::string text;
  std::uint64_t next_seq = 1;
};

void replay(const json& event, std::string& text, bool& in_message) {
  const auto type = string_at(event, "type");
  if (type == "task" || (type == "state" && string_at(event, "state") == "running")) {
    text.clear();
    in_message = false;
  } else if (type == "text") {
    if (!in_message)
      text.clear();
    in_message = true;
    if (text.size() < limits::session_text_bytes)
      text += string_at(event, "delta");
  } else if (type == "message") {
    // A message without text (a call of a tool) does not undo an earlier one.
    if (auto whole = string_at(event, "text"); !whole.empty())
      text = std::move(whole);
    in_message = false;
  }
}

result<told> read_told(file directory) {
  told out;
  bool in_message = false;
  event_reader reader(std::move(directory), 1);
  for (;;) {
    const auto page = reader.next();
    if (!page)
      return page.failed();
    if (page->empty())
      break;
    for (const auto& e : *page)
      if (const auto j = parse(e->json, limits::worker_json_depth, limits::worker_json_values))
        replay(member(*j, "event"), out.text, in_message);
  }
  out.next_seq = reader.next_seq();
  return out;
}

// A line that its writer did not finish must not become the beginning of ours.
result<done> end_torn_line(int dir) {
  auto events = file::open(dir, journal_files::events, O_RDWR | O_CREAT);
  if (!events)
    return events.failed();
  const auto size = events->size();
  if (!size)
    return size.failed();
  char last = '\n';
  if (*size > 0)
    if (const auto n = events->read_at(*size - 1, &last, 1); !n)
      return n.failed();
  return last == '\n' ? result<done>(done{}) : events->append("\n", *size);
}

// Somebody holds the lock, or it cannot be told: hands off.
bool is_owned(int dir) {
  auto lock = file::open(dir, journal_files::lock, O_RDWR);
  if (!lock)
    return false;
  const auto mine = lock->try_lock();
  return !mine || !*mine;
}

} // namespace

result<journal> journal::open(const std::string& path) {
  if (path.empty() || path.front() != '/')
    return error{failure::fault, "the state directory is not an absolute path: " + path};
  for (std::size_t at = 1; at != std::string::npos && at < path.size(); ++at) {
    at = path.find('/', at);
    const auto part = path.substr(0, at);
    if (::mkdir(part.c_str(), 0700) != 0 && errno != EEXIST)
      return system_error("mkdir " + part);
    if (at == std::string::npos)
      break;
  }
  auto root = file::open_directory(AT_FDCWD, path);
  if (!root)
    return root.failed();
  struct stat st;
  if (::fstat(root->fd(), &st) != 0)
    return system_error("stat " + path);
  if (st.st_uid != ::geteuid())
    return error{failure::fault, path + " belongs to another user"};
  if ((st.st_mode & 077) != 0 && ::fchmod(root->fd(), 0700) != 0)
    return system_error("chmod " + path);
  return journal(std::move(*root));
}

result<event_log> journal::create(const session_document& d) {
  const auto making = std::string(unfinished) + d.id;
  if (::mkdirat(root_.fd(), making.c_str(), 0700) != 0)
    return system_error("mkdir sessions/" + making);
  const auto made = [&]() -> result<event_log> {
    auto dir = file::open_directory(root_.fd(), making);
    if (!dir)
      return dir.failed();
    auto log = event_log::open(std::move(*dir));
    if (!log)
      return log;
    if (auto kept = log->keep(d); !kept)
      return kept.failed();
    if (::renameat(root_.fd(), making.c_str(), root_.fd(), d.id.c_str()) != 0)
      return system_error("rename sessions/" + making);
    return log;
  };
  auto log = made();
  if (!log)
    remove(making);
  return log;
}

std::vector<std::string> journal::names() const {
  std::vector<std::string> out;
  const int fd = ::openat(root_.fd(), ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR* dir = fd < 0 ? nullptr : ::fdopendir(fd);
  if (!dir) {
    if (fd >= 0)
      ::close(fd);
    return out;
  }
  while (const dirent* e = ::readdir(dir))
    out.emplace_back(e->d_name);
  ::closedir(dir);
  std::sort(out.begin(), out.end());
  return out;
}

result<session_document> journal::read_summary(const std::string& id) const {
  auto dir = file::open_directory(root_.fd(), id);
  if (!dir)
    return error{failure::unknown_session, "no session " + id};
  auto d = document_in(dir->fd());
  if (d && d->id != id)
    return error{failure::fault, "sessions/" + id + " holds the document of " + d->id};
  return d;
}

std::vector<session_document> journal::ended() const {
  std::vector<session_document> out;
  for (const auto& id : names())
    if (is_session_id(id))
      if (auto d = read_summary(id); d && !is_live(d->state))
        out.push_back(std::move(*d));
  return out;
}

result<session_document> journal::read(const std::string& id) const {
  if (!is_session_id(id))
    return error{failure::unknown_session, "no session " + id};
  auto d = read_summary(id);
  if (!d)
    return d;
  auto dir = file::open_directory(root_.fd(), id);
  if (!dir)
    return dir.failed();
  const auto whole = read_file(dir->fd(), journal_files::result, result_bytes);
  if (!whole)
    return d; // the cut text says itself that it is cut
  if (const auto j = parse(*whole, 4, 100)) {
    d->text = string_at(*j, "text");
    d->error = string_at(*j, "error");
  }
  return d;
}

result<event_reader> journal::follow(const std::string& id, std::uint64_t from) const {
  if (!is_session_id(id))
    return error{failure::unknown_session, "no session " + id};
  auto dir = file::open_directory(root_.fd(), id);
  if (!dir)
    return error{failure::unknown_session, "no session " + id};
  return event_reader(std::move(*dir), from);
}

result<std::uint64_t> journal::last_seq(const std::string& id) const {
  auto reader = follow(id, 1);
  if (!reader)
    return reader.failed();
  return reader->last_seq();
}

result<std::string> journal::stderr_tail(const std::string& id) const {
  auto dir = file::open_directory(root_.fd(), is_session_id(id) ? id : "-");
  if (!dir)
    return error{failure::unknown_session, "no session " + id};
  return read_file(dir->fd(), journal_files::stderr_tail, 4 * limits::stderr_tail_bytes);
}

result<session_document> journal::recover_one(const std::string& id, session_document d,
                                              instant now) {
  auto dir = file::open_directory(root_.fd(), id);
  if (!dir)
    return dir.failed();
  if (auto whole = end_torn_line(dir->fd()); !whole)
    return whole.failed();
  auto again = file::open_directory(root_.fd(), id);
  if (!again)
    return again.failed();
  auto events = read_told(std::move(*again));
  // Takes the lock: whoever is first does it, the others see an ended session.
  auto log = event_log::open(std::move(*dir), events ? events->next_seq : 1);
  if (!log)
    return log.failed();
  if (const auto newest = document_in(log->directory()); newest && !is_live(newest->state))
    return *newest;
  const bool was_idle = d.state == session_state::idle;
  if (was_idle) {
    if (auto kept = read(id))
      d.text = kept->text; // complete, where the events may have been rotated away
  } else if (events) {
    d.text = std::move(events->text);
  }
  d.state = session_state::failed;
  d.error = "the orchestrator ended while the session was live; its worker was ended with it";
  d.updated_at = now;
  d.ended_at = now;
  const auto appended = log->append(now, session_events::state(d.state, d.error));
  if (auto kept = log->keep(d); !kept)
    return kept.failed();
  log->close(now);
  return d;
}

std::vector<session_document> journal::recover(instant now) {
  std::vector<session_document> out;
  for (const auto& name : names()) {
    auto dir = file::open_directory(root_.fd(), name);
    if (!dir || name == "." || name == "..")
      continue;
    if (name.compare(0, unfinished.size(), unfinished) == 0) {
      struct stat st;
      const auto age =
          ::fstat(dir->fd(), &st) == 0
              ? now - instant{std::chrono::seconds{static_cast<std::int64_t>(st.st_mtime)}}
              : std::chrono::milliseconds{0};
      if (age > creation_time && !is_owned(dir->fd()))
        remove(name);
      continue;
    }
    if (!is_session_id(name))
      continue;
    auto d = document_in(dir->fd());
    if (!d || !is_live(d->state) || is_owned(dir->fd()))
      continue;
    if (auto recovered = recover_one(name, std::move(*d), now))
      out.push_back(std::move(*recovered));
  }
  return out;
}

std::vector<std::string> journal::prune(const retention& keep, instant now) {
  std::vector<std::string> gone;
  auto all = ended(); // oldest first
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& d = all[i];
    const bool too_many = all.size() - i > keep.sessions;
    const bool too_old = now - d.ended_at.value_or(d.updated_at) > keep.age;
    if (!too_many && !too_old)
      continue;
    auto dir = file::open_directory(root_.fd(), d.id);
    if (!dir || is_owned(dir->fd()))
      continue;
    remove(d.id);
    gone.push_back(d.id);
  }
  return gone;
}

void journal::remove(const std::string& name) {
  // Only what we put there; a directory with anything else in it stays.
  if (auto dir = file::open_directory(root_.fd(), name))
    for (const char* entry :
         {"session.json", "session.json.new", "result.json", "result.json.new", "stderr",
          "stderr.new", "events.jsonl", "events.old.jsonl", "reserve", "lock"})
      (void)::unlinkat(dir->fd(), entry, 0);
  (void)::unlinkat(root_.fd(), name.c_str(), AT_REMOVEDIR);
}

} // namespace piorch::orchestration
