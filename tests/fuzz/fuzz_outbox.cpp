// What another process says through shared memory: an outbox with any counters and any bytes. An input is how
// far it claims to have written (16 bits, in lines), what it claims to have read and to which stream (8 bytes
// each), and the bytes.
#include "muster/transport/shared_memory/address.hpp"
#include "muster/transport/shared_memory/outbox.hpp"
#include "muster/transport/shared_memory/shared_memory_transport.hpp"
#include "muster/transport/shared_memory/sockets.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace muster::fuzz {
namespace {

constexpr std::size_t kCapacity = 1 << 15;
constexpr int kTurnsMax = 100'000;
constexpr PeerId kPeer = 1;

class CountingSink final : public FrameSink {
 public:
  std::span<std::byte> place(const Frame& frame) override {
    if (frame.view == 1 || frame.bytes > 8 * kCapacity)
      return {};  // as a member does with what it did not ask for
    MUSTER_CHECK(place_.empty());
    place_.resize(frame.bytes);
    return place_;
  }
  void arrived(const Frame& frame, std::span<std::byte> payload) override {
    MUSTER_CHECK(payload.size() == frame.bytes, payload.size(), frame.bytes);
    if (!payload.empty()) place_.clear();
    ++accepted;
  }
  void dropped(const Frame& frame) override {
    MUSTER_CHECK(place_.size() == frame.bytes);
    place_.clear();
  }
  void sent(PeerId, SendToken, bool) override { ++back; }
  void peer_failed(PeerId, const std::string&) override { failed = true; }
  void refused(const std::string& why) override { MUSTER_CHECK(!why.empty()); }
  bool holds_a_place() const { return !place_.empty(); }

  std::size_t accepted = 0, back = 0;
  bool failed = false;

 private:
  std::vector<std::byte> place_;
};

Bytes said(std::uint16_t lines, std::uint64_t stream, std::uint64_t taken, Input bytes) {
  return joined({raw(lines), raw(stream), raw(taken), bytes});
}

}  // namespace

bool accepts(Input input) {
  Choices choices(input);
  const std::uint64_t written = choices.number<std::uint16_t>() * shm::kLine;
  const auto answers = choices.number<std::uint64_t>();
  const auto taken = choices.number<std::uint64_t>();
  CountingSink sink;
  const auto transport = make_shared_memory_transport();
  transport->set_sink(&sink);

  // The stranger listens, so that it can be connected to, and says hello.
  const shm::LocalAddress self{shm::this_host(), shm::new_name()};
  shm::Descriptor listener = shm::listen_as(self.name), socket;
  shm::Outbox box(kCapacity);
  box.put(choices.piece(kCapacity), false);
  box.head().answers = answers;
  box.head().taken = taken;
  box.head().written = written;
  const auto name = shm::open_address(transport->address()).name;
  MUSTER_CHECK(shm::dial(name, socket) == shm::Dialled::yes);
  shm::Hello hello;
  hello.stream = 1;
  hello.capacity = kCapacity;
  std::copy(self.name.begin(), self.name.end(), hello.name);
  MUSTER_CHECK(shm::say_hello(socket, hello, box.descriptor()));
  transport->connect(kPeer, shm::seal_address(self));
  const Bytes payload(2 * shm::kRingBytes);
  Frame frame;
  frame.bytes = payload.size();
  transport->send(kPeer, frame, payload, 1);

  for (int turns = 0; turns < 64 || transport->progress(); ++turns) {
    MUSTER_CHECK(turns < kTurnsMax);
    transport->progress();
    transport->arm();
  }
  socket = shm::Descriptor();  // it ends
  listener = shm::Descriptor();
  for (int turns = 0; !sink.failed || sink.holds_a_place() || sink.back == 0; ++turns) {
    MUSTER_CHECK(turns < kTurnsMax, sink.failed, sink.back);
    transport->arm();
    transport->progress();
  }
  MUSTER_CHECK(sink.back == 1, sink.back);
  return sink.accepted > 0;
}

std::vector<Bytes> seeds() {
  std::vector<Bytes> all;
  for (const std::uint16_t bytes : {0, 100, 3000}) {
    Frame frame;
    frame.bytes = bytes;
    const auto lines = static_cast<std::uint16_t>(1 + shm::in_lines(bytes) / shm::kLine);
    all.push_back(said(lines, 2, 64, joined({raw(frame), Bytes(shm::in_lines(bytes), std::byte{90})})));
  }
  return all;
}

}  // namespace muster::fuzz
