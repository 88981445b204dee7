#include "orchestration/event_log.hpp"

#include "orchestration/json_text.hpp"
#include "orchestration/session_events.hpp"

#include <nlohmann/json.hpp>

#include <fcntl.h>
#include <unistd.h>
#include <utility>

namespace piorch::orchestration {

namespace {

// Given up when the disk is full, so that the end of the session can still be
// written: a document with its texts cut fits many times.
constexpr off_t reserve_bytes = 64 << 10;

} // namespace

std::string numbered_event(std::uint64_t seq, instant time, std::string_view event_json) {
  std::string line;
  line.reserve(event_json.size() + 80);
  line += "{\"seq\":";
  line += std::to_string(seq);
  line += ",\"time\":\"";
  line += to_text(time);
  line += "\",\"event\":";
  line += event_json;
  line += '}';
  return line;
}

result<event_log> event_log::open(file directory, std::uint64_t next_seq, std::size_t limit_bytes) {
  event_log log;
  log.directory_ = std::move(directory);
  log.next_seq_ = next_seq;
  log.limit_bytes_ = limit_bytes;
  const int dir = log.directory_.fd();
  auto lock = file::open(dir, journal_files::lock, O_RDWR | O_CREAT);
  if (!lock)
    return lock.failed();
  const auto locked = lock->try_lock();
  if (!locked)
    return locked.failed();
  if (!*locked)
    return error{failure::fault, "the session belongs to another orchestrator"};
  log.lock_ = std::move(*lock);
  auto events = file::open(dir, journal_files::events, O_RDWR | O_CREAT);
  if (!events)
    return events.failed();
  const auto size = events->size();
  if (!size)
    return size.failed();
  log.events_ = std::move(*events);
  log.events_bytes_ = *size;
  if (auto reserve = file::open(dir, journal_files::reserve, O_RDWR | O_CREAT); reserve)
    (void)::posix_fallocate(reserve->fd(), 0, reserve_bytes); // without it one chance less
  return log;
}

result<done> event_log::write_line(const std::string& line) {
  if (events_bytes_ > 0 && events_bytes_ + line.size() > limit_bytes_ / 2)
    if (auto rotated = rotate(); !rotated)
      return rotated;
  if (auto written = events_.append(line, events_bytes_); !written)
    return written;
  events_bytes_ += line.size();
  return done{};
}

result<done> event_log::rotate() {
  // Readers hold the old file by its descriptor and go on to the new one.
  const int dir = directory_.fd();
  if (::renameat(dir, journal_files::events, dir, journal_files::older_events) != 0)
    return system_error("rename events.jsonl");
  auto fresh = file::open(dir, journal_files::events, O_RDWR | O_CREAT | O_TRUNC);
  if (!fresh) {
    (void)::renameat(dir, journal_files::older_events, dir, journal_files::events);
    return fresh.failed();
  }
  events_ = std::move(*fresh);
  events_bytes_ = 0;
  return done{};
}

// For the events from `from` to `to`.
std::string event_log::gap_line(std::uint64_t from, std::uint64_t to, instant time) {
  return numbered_event(to, time, session_events::gap(from, to, "could not be written")) + '\n';
}

event_log::appended event_log::append(instant time, std::string_view event_json) {
  const auto seq = next_seq_++;
  appended out{std::make_shared<const logged_event>(
                   logged_event{seq, numbered_event(seq, time, event_json)}),
               {}};
  std::string line;
  if (lost_from_ != 0)
    line = gap_line(lost_from_, seq - 1, time);
  line += out.event->json;
  line += '\n';
  if (auto written = write_line(line); !written) {
    if (lost_from_ == 0) {
      lost_from_ = seq;
      out.failed = "events of the session are not kept: " + written.failed().text;
    }
  } else {
    lost_from_ = 0;
  }
  return out;
}

bool event_log::use_reserve() {
  return ::unlinkat(directory_.fd(), journal_files::reserve, 0) == 0;
}

result<done> event_log::keep(const session_document& d) {
  // The document last: it says that the result beside it is complete.
  auto result_text = dump({{"text", d.text}, {"error", d.error}});
  error first{failure::fault, {}};
  if (result_text != kept_result_) {
    if (auto kept = replace_file(directory_.fd(), journal_files::result, result_text); !kept) {
      first = kept.failed();
      // An older answer must not pass for the one that could not be kept.
      (void)::unlinkat(directory_.fd(), journal_files::result, 0);
      kept_result_.clear();
    } else {
      kept_result_ = std::move(result_text);
    }
  }
  const auto document = dump(to_summary(d));
  auto kept = replace_file(directory_.fd(), journal_files::document, document);
  // An older document of a live session is good enough; that it has ended must be kept.
  if (!kept && !is_live(d.state) && use_reserve())
    kept = replace_file(directory_.fd(), journal_files::document, document);
  if (!kept)
    return kept;
  if (!first.text.empty())
    return first;
  return done{};
}

result<done> event_log::keep_stderr(std::string_view tail) {
  return replace_file(directory_.fd(), journal_files::stderr_tail, tail);
}

void event_log::close(instant now) {
  (void)use_reserve();
  if (const auto from = std::exchange(lost_from_, 0); from != 0)
    (void)write_line(gap_line(from, next_seq_ - 1, now)); // so much room there is now
  lock_ = file();
}

} // namespace piorch::orchestration
