#include "tools/piorch-init/job.hpp"

#include <cstring>
#include <sys/mman.h>
#include <sys/stat.h>

namespace piorch::init {

namespace {

// A text record must end in its only NUL.
char* text(unsigned char* data, std::size_t bytes) {
  if (bytes == 0 || std::memchr(data, 0, bytes) != data + bytes - 1)
    return nullptr;
  return reinterpret_cast<char*>(data);
}

template <class T> bool value(const unsigned char* data, std::size_t bytes, T& out) {
  if (bytes < sizeof out)
    return false;
  std::memcpy(&out, data, sizeof out);
  return true;
}

bool take(wire::tag what, unsigned char* data, std::size_t bytes, job& out) {
  using wire::tag;
  const auto number = [&](std::uint64_t& to) {
    return bytes == sizeof to && value(data, bytes, to);
  };
  switch (what) {
    case tag::argument:
      out.arguments.push_back(text(data, bytes));
      return out.arguments.back() != nullptr;
    case tag::environment:
      out.environment.push_back(text(data, bytes));
      return out.environment.back() != nullptr;
    case tag::directory:
      out.directory = text(data, bytes);
      return out.directory != nullptr;
    case tag::root: {
      root r{};
      if (!value(data, bytes, r.what))
        return false;
      r.path = text(data + sizeof r.what, bytes - sizeof r.what);
      out.roots.push_back(r);
      return r.path && r.path[0] == '/';
    }
    case tag::mount: {
      mount m{};
      if (!value(data, bytes, m.what))
        return false;
      m.path = text(data + sizeof m.what, bytes - sizeof m.what);
      out.mounts.push_back(m);
      return m.path && m.what.root < out.roots.size();
    }
    case tag::filter:
      if (bytes == 0 || bytes % sizeof(sock_filter) != 0 ||
          bytes / sizeof(sock_filter) > BPF_MAXINSNS)
        return false;
      out.filter.len = static_cast<unsigned short>(bytes / sizeof(sock_filter));
      out.filter.filter = reinterpret_cast<sock_filter*>(data);
      return true;
    case tag::listener: {
      wire::listener_record l;
      if (bytes != sizeof l || !value(data, bytes, l) ||
          out.listeners.size() == wire::max_listeners)
        return false;
      out.listeners.push_back(l);
      return true;
    }
    case tag::limit_processes:
      return number(out.limit_processes);
    case tag::limit_data:
      return number(out.limit_data);
    case tag::signal_mask:
      return number(out.signal_mask);
    case tag::ignored_signals:
      return number(out.ignored_signals);
    case tag::terminal: {
      std::uint64_t fd = 0;
      if (!number(fd) || fd > 2)
        return false;
      out.terminal = static_cast<int>(fd);
      return true;
    }
    default:
      if (what < tag::guard_first || what > tag::guard_last)
        return false;
      out.guard.push_back({what, data, bytes});
      return true;
  }
}

} // namespace

bool read_job(int fd, job& out) {
  struct stat st {};
  if (::fstat(fd, &st) != 0 || st.st_size <= 0)
    return false;
  const auto size = static_cast<std::size_t>(st.st_size);
  void* map = ::mmap(nullptr, size, PROT_READ | PROT_WRITE, MAP_PRIVATE, fd, 0);
  if (map == MAP_FAILED)
    return false;
  out.bytes = map;
  out.size = size;
  auto* at = static_cast<unsigned char*>(map);
  std::size_t left = size;
  for (;;) {
    wire::record_head head;
    if (!value(at, left, head))
      return false;
    at += sizeof head;
    left -= sizeof head;
    if (head.what == wire::tag::end)
      break;
    const std::size_t padded = (std::size_t{head.bytes} + 7) & ~std::size_t{7};
    if (padded > left || !take(head.what, at, head.bytes, out))
      return false;
    at += padded;
    left -= padded;
  }
  if (out.arguments.empty() || out.filter.len == 0)
    return false;
  out.arguments.push_back(nullptr);
  out.environment.push_back(nullptr);
  return true;
}

} // namespace piorch::init
