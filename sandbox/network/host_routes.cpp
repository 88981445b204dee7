#include "sandbox/network/host_routes.hpp"

#include <array>
#include <cerrno>
#include <cstring>
#include <linux/rtnetlink.h>
#include <sys/socket.h>

namespace piorch::sandbox::network {

namespace ip = boost::asio::ip;

namespace {

struct route_request {
  nlmsghdr header{};
  rtmsg route{};
  alignas(NLMSG_ALIGNTO) std::array<unsigned char, RTA_LENGTH(16)> destination{};
};

route_request ask_for(const ip::address& to, std::uint32_t number) {
  route_request out;
  const auto put = [&](const auto& bytes, unsigned char family) {
    rtattr attribute{};
    attribute.rta_type = RTA_DST;
    attribute.rta_len = static_cast<unsigned short>(RTA_LENGTH(bytes.size()));
    std::memcpy(out.destination.data(), &attribute, sizeof attribute);
    std::memcpy(out.destination.data() + RTA_LENGTH(0), bytes.data(), bytes.size());
    out.route.rtm_family = family;
    out.route.rtm_dst_len = static_cast<unsigned char>(bytes.size() * 8);
    out.header.nlmsg_len =
        static_cast<std::uint32_t>(NLMSG_LENGTH(sizeof(rtmsg)) + attribute.rta_len);
  };
  if (to.is_v4())
    put(to.to_v4().to_bytes(), AF_INET);
  else
    put(to.to_v6().to_bytes(), AF_INET6);
  out.header.nlmsg_type = RTM_GETROUTE;
  out.header.nlmsg_flags = NLM_F_REQUEST;
  out.header.nlmsg_seq = number;
  return out;
}

bool is_ours(unsigned char type) {
  return type == RTN_LOCAL || type == RTN_BROADCAST || type == RTN_ANYCAST || type == RTN_MULTICAST;
}

error cannot_ask() {
  return {failure::fault, std::string("the addresses of this host cannot be told from others: ") +
                              std::strerror(errno)};
}

} // namespace

bool means_no_route(int error) {
  switch (error) {
    case ENETUNREACH:
    case EHOSTUNREACH: // unreachable
    case EACCES:       // prohibit
    case EINVAL:       // blackhole
    case EOPNOTSUPP:   // this kernel does not have the family: nothing of it can be dialled either
    case EAFNOSUPPORT:
      return true;
    default:
      return false;
  }
}

result<std::vector<ip::address>>
host_routes::on_this_host(const std::vector<ip::address>& candidates) {
  std::vector<ip::address> out;
  for (const auto& candidate : candidates) {
    auto own = is_on_this_host(candidate);
    if (!own) {
      socket_.reset(); // an answer that is still to come would be taken for the next one's
      return std::move(own).failed();
    }
    if (*own)
      out.push_back(candidate);
  }
  return out;
}

result<bool> host_routes::is_on_this_host(const ip::address& candidate) {
  if (!socket_)
    socket_.reset(::socket(AF_NETLINK, SOCK_RAW | SOCK_CLOEXEC, NETLINK_ROUTE));
  if (!socket_)
    return cannot_ask();
  const auto request = ask_for(candidate, ++number_);
  static_assert(offsetof(route_request, destination) == NLMSG_LENGTH(sizeof(rtmsg)));
  if (::send(socket_.get(), &request, request.header.nlmsg_len, 0) < 0)
    return cannot_ask();
  // The kernel answers within send(); an error or one route, never more.
  alignas(nlmsghdr) std::array<unsigned char, 4096> answer;
  const auto n = ::recv(socket_.get(), answer.data(), answer.size(), MSG_DONTWAIT);
  if (n < static_cast<ssize_t>(NLMSG_LENGTH(sizeof(rtmsg))))
    return cannot_ask();
  nlmsghdr header;
  std::memcpy(&header, answer.data(), sizeof header);
  if (header.nlmsg_seq != number_) {
    errno = EPROTO;
    return cannot_ask();
  }
  if (header.nlmsg_type == NLMSG_ERROR) {
    nlmsgerr why{};
    std::memcpy(&why, answer.data() + NLMSG_LENGTH(0), sizeof why);
    if (means_no_route(-why.error))
      return false;
    errno = -why.error;
    return cannot_ask();
  }
  if (header.nlmsg_type != RTM_NEWROUTE) {
    errno = EPROTO;
    return cannot_ask();
  }
  rtmsg route;
  std::memcpy(&route, answer.data() + NLMSG_LENGTH(0), sizeof route);
  return is_ours(route.rtm_type);
}

} // namespace piorch::sandbox::network
