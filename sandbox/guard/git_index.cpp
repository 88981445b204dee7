#include "sandbox/guard/git_index.hpp"

#include "sandbox/guard/git_paths.hpp"

#include <cstdint>
#include <string>

namespace piorch::sandbox::guard {

namespace {

constexpr const char* outside = "git index: a path that leads outside";
constexpr const char* unreadable = "git index: not as git writes it";
constexpr const char* misleading = "git index: offsets that lead elsewhere";

constexpr std::size_t header_size = 12;
constexpr std::size_t stat_size = 40;       // an entry's times, device, inode, mode, owner, size
constexpr std::size_t path_at_most = 65536; // of version 4, where a few bytes can make a long one

struct entry {
  std::size_t kept = 0; // bytes of the path before that this one begins with
  std::size_t name = 0; // where the rest begins, and its size
  std::size_t size = 0;
  std::size_t next = 0;
  std::uint32_t mode = 0;
  bool odd = false;     // Git reads it but would not write it so
  bool unended = false; // a byte that is not zero follows, which Git copies too
};

enum class found {
  entry,
  end,   // the file ends within it; `name` and `size` are what there is
  fatal, // Git gives up reading the index
  weird, // what Git makes of it nobody knows
};

// One index, read for one size of the object ids: as forgiving as Git is, so that the
// entries seen are those that Git would see, but with a note of everything forgiven.
class reader {
public:
  reader(std::string_view bytes, std::size_t id_size) : bytes_(bytes), id_(id_size) {}

  bool fine = false;
  const char* bad = nullptr; // never acceptable, whatever the object format may be

  void read() {
    bool readable = bytes_.size() >= header_size + id_ && bytes_.substr(0, 4) == "DIRC";
    version_ = readable ? u32(4) : 0;
    count_ = readable ? u32(8) : 0;
    readable = version_ >= 2 && version_ <= 4;
    if (!readable)
      return; // Git would not read it either
    fine = entries() && extensions() && (!stripped_ || linked_) && blocks_fit();
    if (misleads())
      bad = misleading; // threads would not read what we have
    if (bad)
      fine = false;
  }

private:
  std::uint32_t u16(std::size_t at) const {
    return static_cast<std::uint32_t>(static_cast<unsigned char>(bytes_[at]) << 8 |
                                      static_cast<unsigned char>(bytes_[at + 1]));
  }
  std::uint32_t u32(std::size_t at) const { return u16(at) << 16 | u16(at + 2); }
  bool has(std::size_t at, std::size_t n) const {
    return at <= bytes_.size() && bytes_.size() - at >= n;
  }

  // create_from_disk() of Git. `before` is the size of the path before.
  found parse(std::size_t from, std::size_t before, bool first, entry& e) const {
    e = {};
    std::size_t at = from + stat_size + id_ + 2;
    if (!has(from, stat_size + id_ + 2))
      return found::end;
    const std::uint32_t flags = u16(at - 2);
    e.mode = u32(from + 24);
    if (flags & 0x4000) { // more flags, of which Git knows two
      if (!has(at, 2))
        return found::end;
      if (u16(at) & 0x9fff)
        return found::fatal;
      at += 2;
      e.odd = version_ == 2;
    }
    if (version_ == 4) {
      std::size_t strip = 0;
      if (!varint(at, strip, e.odd))
        return found::weird; // its end is behind that of the file
      if (strip > before && !first)
        return found::fatal;
      e.odd = e.odd || (first && strip != 0);
      e.kept = first ? 0 : before - strip;
    }
    e.name = at;
    e.size = flags & 0xfff;
    if (e.size == 0xfff) { // or more: up to the zero byte
      const auto zero = bytes_.find('\0', at);
      e.size = (zero == std::string_view::npos ? bytes_.size() : zero) - at;
      e.odd = e.odd || e.kept + e.size < 0xfff;
    } else if (e.size < e.kept) {
      return e.size + 1 < e.kept ? found::fatal : found::weird; // it copies 2^64 bytes, or none
    } else {
      e.size -= e.kept;
    }
    if (version_ == 4 && e.kept + e.size > path_at_most)
      return found::weird;
    if (!has(at, e.size + 1)) {
      e.size = bytes_.size() - at;
      return found::end;
    }
    const std::size_t end = at + e.size;
    e.next = version_ == 4 ? end + 1 : from + ((end - from + 8) & ~std::size_t(7));
    e.unended = bytes_[end] != '\0';
    for (std::size_t i = end; i < e.next && i < bytes_.size(); ++i)
      e.odd = e.odd || bytes_[i] != '\0';
    return found::entry;
  }

  // decode_varint() of Git: what is too large is 0 and takes up nothing.
  bool varint(std::size_t& at, std::size_t& value, bool& odd) const {
    const std::size_t from = at;
    for (value = 0;; ++value) {
      if (value >> 57) {
        at = from;
        value = 0;
        odd = true;
        return true;
      }
      if (!has(at, 1))
        return false;
      const auto c = static_cast<unsigned char>(bytes_[at++]);
      value = (value << 7) + (c & 127);
      if (!(c & 128))
        return true;
    }
  }

  bool entries() {
    bool odd = false, whole = true;
    std::string joined; // the path, in version 4
    std::size_t before = 0;
    at_ = header_size;
    for (std::uint32_t i = 0; i < count_; ++i) {
      entry e;
      const auto got = parse(at_, before, i == 0, e);
      if (got == found::fatal)
        bad = nullptr;
      if (got == found::weird)
        bad = unreadable;
      if (got == found::fatal || got == found::weird)
        return false;
      std::string_view path = bytes_.substr(e.name, e.size + (e.unended ? 1 : 0));
      if (version_ == 4) {
        joined.resize(e.kept);
        path = joined.append(path);
      }
      odd = !take(path, e) || odd || e.odd;
      whole = got != found::end;
      if (!whole)
        break; // only zeros from here on
      before = e.kept + e.size;
      at_ = e.next;
    }
    end_ = at_;
    return !odd && whole && has(at_, id_);
  }

  bool take(std::string_view path, const entry& e) {
    // The entries of a split index that replace others have no name.
    if (path.empty()) {
      stripped_ = true;
      return true;
    }
    // A directory of a sparse index ends in a slash.
    if (e.mode == 0040000 && path.size() > 1 && path.back() == '/')
      path.remove_suffix(1);
    const auto kind = kind_of_path(path, e.kept < path.size() ? e.kept : path.size());
    if (kind == path_kind::outside)
      bad = outside;
    return kind == path_kind::plain;
  }

  bool extensions() {
    const std::size_t end = bytes_.size() - id_; // the checksum
    while (end - at_ >= 8) {
      const auto name = bytes_.substr(at_, 4);
      const std::size_t size = u32(at_ + 4), body = at_ + 8;
      if (end - body < size)
        return false;
      if ((name[0] < 'A' || name[0] > 'Z') && name != "link" && name != "sdir")
        return false;
      if (name == "link")
        linked_ = true;
      if (name == "IEOT") {
        if (table_size_ || size < 4 || size % 8 != 4 || u32(body) != 1)
          return false;
        table_ = body + 4;
        table_size_ = size - 4;
      }
      at_ = body + size;
      if (name == "EOIE") { // the last one
        if (size < 4 || u32(body) != end_ || at_ != end)
          return false;
        eoie_ = body - 8;
      }
    }
    return at_ == end;
  }

  // Whether Git would take the end of the entries from elsewhere than the extension seen:
  // it looks where the file ends, with the size for SHA-1 also where ids have another.
  bool misleads() const {
    for (const std::size_t size : {8 + 4 + std::size_t(20), 8 + 4 + id_}) {
      if (bytes_.size() < header_size + size + id_)
        continue;
      const std::size_t at = bytes_.size() - id_ - size;
      if (bytes_.substr(at, 4) == "EOIE" && (!fine || at != eoie_))
        return true;
    }
    return false;
  }

  // Threads of Git begin to read at the table's offsets, without a path before: that must be
  // what reading one entry after the other comes to.
  bool blocks_fit() const {
    if (table_size_ == 0)
      return true;
    std::size_t row = table_, at = header_size, before = 0;
    std::uint32_t left = 0; // entries of the block
    for (std::uint32_t i = 0; i < count_; ++i) {
      entry e;
      if (parse(at, before, i == 0, e) != found::entry)
        return false;
      if (left == 0) {
        for (; left == 0; row += 8) {
          if (row == table_ + table_size_)
            return false;
          left = u32(row + 4);
          if (left != 0 && (u32(row) != at || e.kept != 0))
            return false;
        }
      }
      --left;
      before = e.kept + e.size;
      at = e.next;
    }
    for (; row != table_ + table_size_; row += 8)
      if (u32(row + 4) != 0)
        return false;
    return left == 0;
  }

  std::string_view bytes_;
  std::size_t id_;
  std::uint32_t version_ = 0, count_ = 0;
  std::size_t at_ = 0, end_ = 0, eoie_ = 0;
  bool stripped_ = false, linked_ = false;
  std::size_t table_ = 0, table_size_ = 0;
};

} // namespace

const char* bad_index(std::string_view bytes, std::size_t id_size) {
  if (bytes.empty())
    return nullptr;
  reader own(bytes, id_size), sha1(bytes, 20);
  own.read();
  if (id_size != 20)
    sha1.read();
  const char* bad = own.bad ? own.bad : sha1.bad;
  return bad ? bad : own.fine ? nullptr : unreadable;
}

const char* bad_index(std::string_view bytes) {
  const char* bad = bad_index(bytes, 20);
  return bad && bad_index(bytes, 32) ? bad : nullptr;
}

} // namespace piorch::sandbox::guard
