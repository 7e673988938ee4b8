#include "transport/shared_memory/sockets.hpp"

#include <sys/socket.h>
#include <sys/un.h>

#include <bit>
#include <cerrno>
#include <cstddef>
#include <cstring>

#include "muster/error.hpp"
#include "transport/shared_memory/address.hpp"

namespace muster::shm {
namespace {

static_assert(sizeof(Hello::name) == kNameBytes);

struct SocketName {
  sockaddr_un address{};
  socklen_t length = 0;

  explicit SocketName(const std::string& name) {
    const std::string text = std::string(kSocketPrefix) + name;
    address.sun_family = AF_UNIX;
    // The first byte of an abstract name is 0.
    std::memcpy(address.sun_path + 1, text.data(), std::min(text.size(), sizeof address.sun_path - 1));
    length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + 1 + text.size());
  }
  const sockaddr* get() const { return reinterpret_cast<const sockaddr*>(&address); }
};

Descriptor new_socket() {
  Descriptor made(::socket(AF_UNIX, SOCK_SEQPACKET | SOCK_NONBLOCK | SOCK_CLOEXEC, 0));
  if (!made) throw Error(std::string("shared memory: socket: ") + std::strerror(errno));
  return made;
}

/// Room for one descriptor beside a message.
union Beside {
  char bytes[CMSG_SPACE(sizeof(int))];
  cmsghdr align;
};

}  // namespace

Descriptor listen_as(const std::string& name) {
  Descriptor listener = new_socket();
  const SocketName address(name);
  if (::bind(listener.get(), address.get(), address.length) != 0 || ::listen(listener.get(), SOMAXCONN) != 0)
    throw Error(std::string("shared memory: listen: ") + std::strerror(errno));
  return listener;
}

Dialed dial(const std::string& name, Descriptor& socket) {
  Descriptor made = new_socket();
  const SocketName address(name);
  if (::connect(made.get(), address.get(), address.length) != 0)
    return errno == EAGAIN ? Dialed::busy : Dialed::nobody;
  socket = std::move(made);
  return Dialed::yes;
}

// None: errno says whether none waits (EAGAIN), or why it is not let in, unless one was `refused`.
Descriptor accept_from(const Descriptor& listener, std::string& refused) {
  Descriptor socket(::accept4(listener.get(), nullptr, nullptr, SOCK_NONBLOCK | SOCK_CLOEXEC));
  if (!socket) return socket;
  ucred peer{};
  socklen_t length = sizeof peer;
  if (::getsockopt(socket.get(), SOL_SOCKET, SO_PEERCRED, &peer, &length) != 0 || peer.uid != ::geteuid()) {
    refused = "a process of another user (" + std::to_string(peer.uid) + ") wanted to use shared memory";
    return Descriptor();
  }
  return socket;
}

namespace {

template <class Content>
bool send_with(const Descriptor& socket, Content content, int descriptor) {
  iovec bytes{&content, sizeof content};
  Beside beside{};
  msghdr message{};
  message.msg_iov = &bytes;
  message.msg_iovlen = 1;
  message.msg_control = beside.bytes;
  message.msg_controllen = sizeof beside.bytes;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof descriptor);
  std::memcpy(CMSG_DATA(header), &descriptor, sizeof descriptor);
  return ::sendmsg(socket.get(), &message, MSG_NOSIGNAL | MSG_DONTWAIT) == sizeof content;
}

}  // namespace

bool send_hello(const Descriptor& socket, const Hello& hello, int outbox) {
  return send_with(socket, hello, outbox);
}

bool send_segment(const Descriptor& socket, const Handed& handed, int segment) {
  return send_with(socket, handed, segment);
}

void poke(const Descriptor& socket) {
  const char byte = 1;
  [[maybe_unused]] const auto sent = ::send(socket.get(), &byte, 1, MSG_NOSIGNAL | MSG_DONTWAIT);
}

Heard hear(const Descriptor& socket) {
  Heard heard;
  for (;;) {
    Hello hello;
    iovec bytes{&hello, sizeof hello};
    Beside beside{};
    msghdr message{};
    message.msg_iov = &bytes;
    message.msg_iovlen = 1;
    message.msg_control = beside.bytes;
    message.msg_controllen = sizeof beside.bytes;
    const auto got = ::recvmsg(socket.get(), &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
    if (got < 0 && errno == EINTR) continue;
    if (got < 0 && (errno == EAGAIN || errno == EWOULDBLOCK)) return heard;
    if (got <= 0) {
      heard.ended = true;
      return heard;
    }
    const cmsghdr* header = CMSG_FIRSTHDR(&message);
    if (header != nullptr && header->cmsg_type == SCM_RIGHTS && header->cmsg_len == CMSG_LEN(sizeof(int))) {
      int number = -1;
      std::memcpy(&number, CMSG_DATA(header), sizeof number);
      heard.memory = Descriptor(number);
    }
    if (got == 1 && !heard.memory) continue;  // a poke
    heard.cut_off = (message.msg_flags & MSG_CTRUNC) != 0;
    heard.strange = got != sizeof hello || !heard.memory ||
                    (hello.magic != Hello::kMagic && hello.magic != Handed::kMagic) ||
                    (message.msg_flags & (MSG_TRUNC | MSG_CTRUNC)) != 0;
    if (heard.strange) return heard;
    if (hello.magic == Hello::kMagic) heard.hello = hello;
    if (hello.magic == Handed::kMagic) heard.handed = std::bit_cast<Handed>(hello);
    return heard;
  }
}

}  // namespace muster::shm
