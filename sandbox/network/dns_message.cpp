#include "sandbox/network/dns_message.hpp"

#include <algorithm>
#include <cstring>
#include <optional>

namespace piorch::sandbox::network::dns {
namespace {

namespace ip = boost::asio::ip;
constexpr std::size_t header_size = 12;
constexpr std::size_t records_max = 256;
constexpr unsigned aliases_max = 16;

void put16(std::string& out, unsigned v) {
  out += static_cast<char>(v >> 8);
  out += static_cast<char>(v & 0xff);
}

// A cursor that fails once and for all when it runs over the end.
class reader {
public:
  explicit reader(std::string_view message) : all_(message) {}

  bool failed() const { return failed_; }
  unsigned u8() { return need(1) ? static_cast<std::uint8_t>(all_[at_++]) : 0; }
  unsigned u16() {
    const unsigned high = u8();
    return (high << 8) | u8();
  }
  std::uint32_t u32() {
    const std::uint32_t high = u16();
    return (high << 16) | u16();
  }
  std::string_view bytes(std::size_t n) {
    if (!need(n))
      return {};
    auto out = all_.substr(at_, n);
    at_ += n;
    return out;
  }
  std::size_t position() const { return at_; }
  void go_to(std::size_t at) { at_ = at; }

  // A name in lower case with dots, compression followed. Bytes that would be
  // taken for something else in dotted form make it an impossible name.
  std::string name() {
    std::string out;
    std::size_t resume = 0;
    std::size_t floor = at_; // a pointer must go below where the current run began
    for (;;) {
      const unsigned length = u8();
      if (failed_)
        return {};
      if (length == 0)
        break;
      if ((length & 0xc0) == 0xc0) {
        const std::size_t target = ((length & 0x3f) << 8) | u8();
        if (failed_ || target >= floor || target < header_size)
          return fail();
        if (resume == 0)
          resume = at_;
        at_ = floor = target;
        continue;
      }
      if (length > 63)
        return fail();
      const auto label = bytes(length);
      if (failed_ || out.size() + label.size() + 1 > 255)
        return fail();
      if (!out.empty())
        out += '.';
      for (char c : label)
        out += c == '.' || c == '\0'  ? '\xff'
               : c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32)
                                      : c;
    }
    if (resume != 0)
      at_ = resume;
    return out;
  }

private:
  bool need(std::size_t n) {
    if (failed_ || all_.size() - at_ < n)
      failed_ = true;
    return !failed_;
  }
  std::string fail() {
    failed_ = true;
    return {};
  }
  std::string_view all_;
  std::size_t at_ = 0;
  bool failed_ = false;
};

struct answer {
  std::string owner;
  record type;
  std::uint32_t ttl;
  std::string target;                 // of a CNAME
  std::optional<ip::address> address; // of A and AAAA
};

std::optional<answer> read_record(reader& in) {
  answer out;
  out.owner = in.name();
  out.type = static_cast<record>(in.u16());
  const unsigned dns_class = in.u16();
  out.ttl = in.u32();
  const std::size_t length = in.u16();
  const std::size_t start = in.position();
  const auto data = in.bytes(length);
  if (in.failed())
    return std::nullopt;
  if (dns_class != 1) {
    out.type = record{0};
  } else if (out.type == record::cname) {
    in.go_to(start);
    out.target = in.name();
    if (in.failed() || in.position() != start + length)
      return std::nullopt;
  } else if (out.type == record::a && length == 4) {
    ip::address_v4::bytes_type b;
    std::memcpy(b.data(), data.data(), b.size());
    out.address = ip::address_v4(b);
  } else if (out.type == record::aaaa && length == 16) {
    ip::address_v6::bytes_type b;
    std::memcpy(b.data(), data.data(), b.size());
    out.address = ip::address_v6(b);
  }
  return out;
}

} // namespace

std::string question(std::uint16_t id, std::string_view host, record type) {
  std::string out;
  put16(out, id);
  put16(out, 0x0100); // recursion desired
  put16(out, 1);
  put16(out, 0);
  put16(out, 0);
  put16(out, 0);
  while (!host.empty()) {
    const auto dot = host.find('.');
    const auto label = host.substr(0, dot);
    out += static_cast<char>(label.size());
    out += label;
    host.remove_prefix(dot == std::string_view::npos ? host.size() : dot + 1);
  }
  out += '\0';
  put16(out, static_cast<unsigned>(type));
  put16(out, 1);
  return out;
}

response read_response(std::string_view message, std::uint16_t id, std::string_view host,
                       record type) {
  response out;
  reader in(message);
  const unsigned its_id = in.u16();
  const unsigned flags = in.u16();
  const unsigned questions = in.u16();
  const unsigned answers = in.u16();
  in.u32();
  // QR set, opcode 0, our one question repeated: anything else is not for us.
  if (in.failed() || its_id != id || (flags & 0xf800) != 0x8000 || questions != 1)
    return out;
  const auto asked = in.name();
  const unsigned asked_type = in.u16();
  const unsigned asked_class = in.u16();
  if (in.failed() || asked != host || asked_type != static_cast<unsigned>(type) || asked_class != 1)
    return out;

  out.what = response::kind::failed;
  const unsigned code = flags & 0xf;
  if ((flags & 0x0200) != 0) {
    out.what = response::kind::truncated;
    return out;
  }
  if (code == 3) {
    out.what = response::kind::no_name;
    return out;
  }
  if (code != 0 || answers > records_max)
    return out;
  std::vector<answer> records;
  for (unsigned i = 0; i < answers; ++i) {
    auto r = read_record(in);
    if (!r)
      return out;
    records.push_back(std::move(*r));
  }

  std::string name(host);
  auto ttl = std::uint32_t{0x7fffffff};
  for (unsigned hops = 0; hops <= aliases_max; ++hops) {
    const auto alias = std::find_if(records.begin(), records.end(), [&](const answer& r) {
      return r.type == record::cname && r.owner == name;
    });
    if (alias == records.end())
      break;
    ttl = std::min(ttl, alias->ttl);
    name = alias->target;
  }
  for (const auto& r : records)
    if (r.owner == name && r.type == type && r.address) {
      ttl = std::min(ttl, r.ttl);
      out.addresses.push_back(*r.address);
    }
  if (out.addresses.empty() || ttl > 0x7fffffff)
    ttl = 0;
  out.ttl = std::chrono::seconds(ttl);
  out.what = response::kind::addresses;
  return out;
}

} // namespace piorch::sandbox::network::dns
