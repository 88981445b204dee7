#include "sandbox/guard/rules.hpp"

#include "sandbox/guard/components.hpp"

#include <algorithm>
#include <climits>
#include <linux/fs.h>
#include <linux/magic.h>
#include <sys/vfs.h>

namespace piorch::sandbox::guard {

using ipc::unique_fd;

namespace {

constexpr int links_at_most = 40;

// Appends in reverse, so that the next component is taken from the back.
void push_reversed(std::vector<std::string>& to, std::string_view path) {
  const auto parts = components(path);
  to.insert(to.end(), parts.rbegin(), parts.rend());
}

hit last_of(rule_kind kind) {
  switch (kind) {
    case rule_kind::directory:
    case rule_kind::plain:
      return hit::ancestor;
    case rule_kind::kept:
      return hit::kept;
    default:
      return hit::guarded;
  }
}

// Is the path one of these, sorted and folded, or below one?
bool is_at_or_below(std::string_view path, const std::vector<std::string>& places) {
  const std::string low = folded(path);
  for (std::size_t end = low.find('/', 1);; end = low.find('/', end + 1)) {
    if (std::binary_search(places.begin(), places.end(), low.substr(0, end)))
      return true;
    if (end == std::string::npos)
      return false;
  }
}

int open_root(int root) { return ::openat(root, ".", O_PATH | O_DIRECTORY | O_CLOEXEC); }

} // namespace

std::string folded(std::string_view name) {
  std::string out(name);
  for (char& c : out)
    if (c >= 'A' && c <= 'Z')
      c = static_cast<char>(c + ('a' - 'A'));
  return out;
}

bool is_odd(std::string_view name) {
  if (!name.empty() && (name.back() == '.' || name.back() == ' '))
    return true; // dropped by FAT, NTFS and their network kin
  return std::any_of(name.begin(), name.end(), [](char c) {
    return static_cast<unsigned char>(c) >= 0x80 || c == '~' || c == ':';
  });
}

bool folds_names(int directory) {
  struct statfs s {};
  if (::fstatfs(directory, &s) != 0)
    return true;
  switch (static_cast<std::uint32_t>(s.f_type)) {
    case 0x4d44:     // FAT
    case 0x2011bab0: // exFAT
    case 0x5346544e: // NTFS
    case 0x7366746e: // NTFS3
    case 0xff534d42: // CIFS
    case 0xfe534d42: // SMB2
    case 0x517b:     // SMB
    case 0x01021997: // 9p (WSL's /mnt/c)
    case 0x482b:     // HFS+
    case 0x65735546: // FUSE: whatever lies behind it
      return true;
    default:
      break;
  }
  unique_fd readable(::openat(directory, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC));
  int flags = 0;
  return readable && ::ioctl(readable.get(), FS_IOC_GETFLAGS, &flags) == 0 &&
         (static_cast<unsigned>(flags) & FS_CASEFOLD_FL) != 0;
}

// Visits (directory descriptor, component, is it the last) as far as the path exists. The
// visitor returns false to stop.
template <class Visit> bool rules::follow(const chain& c, Visit visit, bool* blind) const {
  bool ignored = false;
  bool& unclear = blind ? *blind : ignored;
  std::size_t next_part = 0;
  std::vector<std::string> of_links; // what they lead to, before the next part; in reverse
  unique_fd own;                     // `here` when it is not the base
  int here = c.base;
  const auto enter = [&](int fd) {
    own.reset(fd < 0 ? -1 : fd);
    here = own.get();
    return fd >= 0;
  };
  int links = 0;
  while (!of_links.empty() || next_part < c.parts.size()) {
    std::string of_link;
    if (!of_links.empty()) {
      of_link = std::move(of_links.back());
      of_links.pop_back();
    }
    const std::string& name = of_link.empty() ? c.parts[next_part++] : of_link;
    if (name == ".")
      continue;
    if (name == "..") { // the kernel stops at the root
      if (!enter(open_path(here, "..", O_DIRECTORY)))
        break;
      continue;
    }
    if (!visit(here, name, of_links.empty() && next_part == c.parts.size()))
      break;
    struct stat s {};
    unique_fd next(open_path(here, name.c_str(), O_NOFOLLOW));
    if (next.get() == -ENOENT)
      break;
    // Not allowed to look (chmod 0 by the command), or no descriptor left: the rest of the
    // name may exist all the same.
    if (next.get() < 0 || ::fstat(next.get(), &s) != 0) {
      unclear = true;
      break;
    }
    if (S_ISLNK(s.st_mode)) {
      char target[PATH_MAX];
      const auto n = ::readlinkat(next.get(), "", target, sizeof target);
      if (n <= 0 || ++links > links_at_most)
        break;
      push_reversed(of_links, {target, static_cast<std::size_t>(n)});
      if (target[0] == '/' && !enter(open_root(root_)))
        break;
    } else if (!S_ISDIR(s.st_mode) || !enter(next.release())) {
      break;
    }
  }
  return links > 0;
}

std::vector<std::string> rules::resolved_as_text(std::string_view whole) const {
  std::vector<std::string> rest, out;
  push_reversed(rest, whole);
  for (int links = 0; !rest.empty();) {
    std::string name = std::move(rest.back());
    rest.pop_back();
    if (name == ".")
      continue;
    if (name == "..") {
      if (!out.empty())
        out.pop_back();
      continue;
    }
    std::string path = ".";
    for (const auto& part : out)
      path += '/' + part;
    path += '/' + name;
    char target[PATH_MAX];
    const auto n = ::readlinkat(root_, path.c_str(), target, sizeof target);
    if (n > 0 && ++links <= links_at_most) {
      push_reversed(rest, {target, static_cast<std::size_t>(n)});
      if (target[0] == '/')
        out.clear();
    } else {
      out.push_back(std::move(name));
    }
  }
  return out;
}

int rules::open_base(std::string_view path) {
  if (path.empty())
    return root_;
  for (const base& b : bases_)
    if (b.path == path)
      return b.directory.get();
  const std::string text(path);
  bases_.push_back({text, unique_fd(::open(text.c_str(), O_PATH | O_DIRECTORY | O_CLOEXEC))});
  return bases_.back().directory.get();
}

bool rules::pin(const chain& c) {
  for (const auto& part : c.parts)
    names_.push_back(folded(part));
  return follow(c, [&](int directory, const std::string& name, bool last) {
    struct stat s {};
    if (::fstat(directory, &s) != 0)
      return false;
    pinned p{inode_of(s), folded(name), last ? c.last : hit::ancestor};
    names_.push_back(p.name);
    bool known_directory = false;
    for (pinned& q : pinned_) {
      known_directory = known_directory || q.directory == p.directory;
      if (q.directory == p.directory && q.name == p.name) {
        q.what = std::max(q.what, p.what);
        return true;
      }
    }
    odd_names_ = odd_names_ || (!known_directory && folds_names(directory));
    pinned_.push_back(std::move(p));
    return true;
  });
}

rules::rules(int root, const std::vector<rule>& from) : root_(root) {
  for (const rule& r : from) {
    if (r.kind == rule_kind::in_trees || r.kind == rule_kind::in_linked_trees)
      continue;
    chain c;
    const std::string_view path = r.path;
    c.base = open_base(path.substr(0, r.base_bytes));
    c.parts = components(path.substr(r.base_bytes));
    c.last = last_of(r.kind);
    const bool through_links = pin(c);
    chains_.push_back(c);
    std::vector<std::string>* whole_paths = r.kind == rule_kind::plain ? &plain_
                                            : c.last == hit::guarded   ? &guarded_
                                                                       : nullptr;
    if (whole_paths)
      whole_paths->push_back(folded(path));
    if (through_links) {
      c.base = root_;
      c.parts = resolved_as_text(path);
      pin(c);
      std::string whole;
      for (const auto& part : c.parts)
        whole += '/' + folded(part);
      if (whole_paths)
        whole_paths->push_back(std::move(whole));
      chains_.push_back(std::move(c));
    }
  }
  std::sort(guarded_.begin(), guarded_.end());
  std::sort(plain_.begin(), plain_.end());
  std::sort(names_.begin(), names_.end());
  names_.erase(std::unique(names_.begin(), names_.end()), names_.end());
}

bool rules::covers(std::string_view path) const { return is_at_or_below(path, guarded_); }
bool rules::is_plain(std::string_view path) const {
  return !plain_.empty() && is_at_or_below(path, plain_);
}

bool rules::known(const std::string& name) const {
  return std::binary_search(names_.begin(), names_.end(), name);
}

bool rules::mentions(std::string_view name) const {
  return known(folded(name)) || (odd_names_ && is_odd(name));
}

hit rules::check(int parent, std::string_view name) const {
  const std::string low = folded(name);
  // On a file system that folds more than ASCII an odd name may be any of them.
  const bool odd = odd_names_ && is_odd(name);
  if (!odd && !known(low))
    return hit::none;
  struct stat s {};
  if (::fstat(parent, &s) != 0)
    return hit::guarded;
  const inode where = inode_of(s);
  hit found = hit::none;
  for (const pinned& p : pinned_)
    if (p.directory == where && (odd || p.name == low))
      found = odd ? hit::guarded : std::max(found, p.what);
  for (const chain& c : chains_) {
    if (found == hit::guarded)
      break;
    bool blind = c.base < 0;
    follow(
        c,
        [&](int directory, const std::string& part, bool last) {
          struct stat d {};
          if (::fstat(directory, &d) != 0) {
            found = hit::guarded;
          } else if (inode_of(d) == where && (odd || folded(part) == low)) {
            found = std::max(found, odd || last ? (odd ? hit::guarded : c.last) : hit::ancestor);
          }
          return found != hit::guarded;
        },
        &blind);
    if (blind && (odd || std::any_of(c.parts.begin(), c.parts.end(),
                                     [&](const std::string& part) { return folded(part) == low; })))
      found = hit::guarded;
  }
  return found;
}

} // namespace piorch::sandbox::guard
