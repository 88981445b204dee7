#include "orchestration/event_reader.hpp"

#include "orchestration/session_events.hpp"

#include <algorithm>
#include <fcntl.h>
#include <optional>
#include <sys/stat.h>

namespace piorch::orchestration {

namespace {

constexpr std::string_view line_begin = "{\"seq\":";
constexpr std::size_t chunk_bytes = 64u << 10; // held for each reader

std::uint64_t number_at(std::string_view text, std::size_t at) {
  std::uint64_t n = 0;
  for (std::size_t i = at; i < text.size() && i < at + 19 && text[i] >= '0' && text[i] <= '9'; ++i)
    n = n * 10 + static_cast<std::uint64_t>(text[i] - '0');
  return n;
}

// The number of a line of ours; 0 when it is none.
std::uint64_t seq_of(std::string_view line) {
  if (line.substr(0, line_begin.size()) != line_begin || line.back() != '}')
    return 0;
  const auto end = line.find_first_not_of("0123456789", line_begin.size());
  return end != std::string_view::npos && line[end] == ',' ? number_at(line, line_begin.size()) : 0;
}

// Where the gap begins that this line tells of, when it is a gap marker.
std::optional<std::uint64_t> gap_begin(std::string_view line) {
  constexpr std::string_view begin = "\"event\":{\"from\":"; // dump() sorts the keys
  const auto at = line.substr(0, 120).find(begin);
  if (at == std::string_view::npos)
    return {};
  return number_at(line, at + begin.size());
}

std::uint64_t inode_of(const file& f) {
  struct stat st;
  return ::fstat(f.fd(), &st) == 0 ? st.st_ino : 0;
}

// The number of the first event in a file; 0: none.
std::uint64_t first_seq(const file& f) {
  char begin[32];
  const auto n = f.read_at(0, begin, sizeof begin);
  if (!n)
    return 0;
  std::string_view line(begin, *n);
  const auto comma = line.find(',');
  return comma == std::string_view::npos ? 0 : seq_of(std::string(line.substr(0, comma)) + ",}");
}

} // namespace

// Opens the file in which next_ is to be looked for. False: there is nothing new.
result<bool> event_reader::open_file() {
  // Written and rotated away since its end was seen: the rest of it first.
  if (current_) {
    const auto size = current_.size();
    if (size && *size > offset_)
      return true;
  }
  auto newest = file::open(directory_.fd(), journal_files::events, O_RDONLY | O_NONBLOCK);
  auto older = file::open(directory_.fd(), journal_files::older_events, O_RDONLY | O_NONBLOCK);
  if (!newest && !older)
    return newest.failed();
  const auto begin = newest ? first_seq(*newest) : 0;
  const bool from_older = older && (begin == 0 || next_ < begin);
  auto& chosen = from_older ? older : newest;
  if (!chosen)
    return false;
  const auto inode = inode_of(*chosen);
  if (current_ && inode == inode_) {
    // Still the same, and read to its end: on to the newer one, if there is one.
    if (!from_older || !newest || begin == 0)
      return false;
    current_ = std::move(*newest);
    inode_ = inode_of(current_);
  } else {
    current_ = std::move(*chosen);
    inode_ = inode;
  }
  offset_ = 0;
  pending_.clear();
  pending_at_ = 0;
  return true;
}

// Reads on in the current file. False at its end.
result<bool> event_reader::fill() {
  pending_.erase(0, pending_at_);
  pending_at_ = 0;
  if (pending_.empty() && pending_.capacity() > 4 * chunk_bytes)
    pending_.shrink_to_fit();
  const auto have = pending_.size();
  pending_.resize(have + chunk_bytes);
  const auto n = current_.read_at(offset_, pending_.data() + have, chunk_bytes);
  pending_.resize(have + (n ? *n : 0));
  if (!n)
    return n.failed();
  offset_ += *n;
  if (*n == 0) {
    // Half a line may be taken back by its writer; it is read again later.
    offset_ -= pending_.size();
    pending_.clear();
  }
  return *n > 0;
}

result<std::uint64_t> event_reader::last_seq() const {
  for (const char* name : {journal_files::events, journal_files::older_events}) {
    auto f = file::open(directory_.fd(), name, O_RDONLY | O_NONBLOCK);
    if (!f)
      continue;
    const auto size = f->size();
    if (!size)
      return size.failed();
    // Backwards until a whole line is there; the last piece may be torn.
    std::string tail;
    for (std::uint64_t at = *size; at > 0;) {
      const auto n = std::min<std::uint64_t>(at, chunk_bytes);
      at -= n;
      std::string piece(static_cast<std::size_t>(n), '\0');
      const auto got = f->read_at(at, piece.data(), piece.size());
      if (!got)
        return got.failed();
      piece.resize(*got);
      tail.insert(0, piece);
      const auto end = tail.rfind('\n');
      if (end == std::string::npos)
        continue;
      const auto begin = end == 0 ? std::string::npos : tail.rfind('\n', end - 1);
      if (begin == std::string::npos && at > 0)
        continue;
      const auto from = begin == std::string::npos ? 0 : begin + 1;
      if (const auto seq = seq_of(std::string_view(tail).substr(from, end - from)))
        return seq;
      break;
    }
  }
  return std::uint64_t{0};
}

void event_reader::take(std::string_view line, std::vector<event_ptr>& out) {
  if (line.empty())
    return;
  const auto seq = seq_of(line);
  if (seq < next_)
    return;
  // A gap marker on disk accounts for what is missing from its `from` on.
  const auto begin = std::min(gap_begin(line).value_or(seq), seq);
  if (begin > next_) {
    // The time of the gap is that of what follows it.
    const auto time_at = line.find("\"time\":\"");
    const auto time =
        time_at == std::string_view::npos ? std::string_view() : line.substr(time_at + 8, 24);
    out.push_back(std::make_shared<const logged_event>(logged_event{
        begin - 1, "{\"seq\":" + std::to_string(begin - 1) + ",\"time\":\"" + std::string(time) +
                       "\",\"event\":" + session_events::gap(next_, begin - 1, "no longer kept") +
                       "}"}));
  }
  out.push_back(std::make_shared<const logged_event>(logged_event{seq, std::string(line)}));
  next_ = seq + 1;
}

result<std::vector<event_ptr>> event_reader::next(std::size_t bytes) {
  std::vector<event_ptr> out;
  std::size_t given = 0;
  if (!current_) {
    const auto opened = open_file();
    if (!opened)
      return opened.failed();
    if (!*opened)
      return out;
  }
  while (given < bytes) {
    const auto end = pending_.find('\n', pending_at_);
    if (end == std::string::npos) {
      const auto more = fill();
      if (!more)
        return more.failed();
      if (*more)
        continue;
      const auto opened = open_file();
      if (!opened)
        return opened.failed();
      if (!*opened)
        break;
      continue;
    }
    const auto before = out.size();
    take(std::string_view(pending_).substr(pending_at_, end - pending_at_), out);
    pending_at_ = end + 1;
    for (auto i = before; i < out.size(); ++i)
      given += out[i]->json.size();
  }
  return out;
}

} // namespace piorch::orchestration
