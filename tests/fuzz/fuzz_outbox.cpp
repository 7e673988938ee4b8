// What another process says through shared memory: an outbox with any counters and any bytes. An input is how
// far it claims to have written (16 bits, in lines), what it claims to have read and given back and to which
// stream (8 bytes each), and the bytes. One segment, number 1, has been handed over.
#include "tests/fuzz/checked_frames.hpp"
#include "tests/fuzz/placing_sink.hpp"
#include "transport/borrowable.hpp"
#include "transport/shared_memory/address.hpp"
#include "transport/shared_memory/connection.hpp"
#include "transport/shared_memory/outbox.hpp"
#include "transport/shared_memory/shared_memory_transport.hpp"
#include "transport/shared_memory/sockets.hpp"

namespace muster::fuzz {
namespace {

constexpr std::size_t kCapacity = 1 << 15;
constexpr int kTurnsMax = 100'000;
constexpr PeerId kPeer = 1;
constexpr std::size_t kSegmentBytes = 1 << 16;

// One that borrows payloads, and is connected.
class BorrowingSink final : public PlacingSink {
 public:
  BorrowingSink() : PlacingSink(8 * kCapacity) {}
  bool arrived_in_place(const Frame& frame, std::span<const std::byte> payload,
                        BorrowedBuffer borrow) override {
    MUSTER_CHECK(payload.size() == frame.bytes && payload.size() <= kSegmentBytes, payload.size());
    sum_ += payload.empty()
                ? 0
                : std::to_integer<unsigned>(payload.front()) + std::to_integer<unsigned>(payload.back());
    ++accepted;
    if (frame.view == 2) borrows.push_back(borrow);
    return frame.view == 2;
  }
  void sent(PeerId, SendToken, bool) override { ++back; }
  void peer_failed(PeerId, const std::string&) override { failed = true; }

  std::size_t back = 0;
  bool failed = false;
  std::vector<BorrowedBuffer> borrows;

 private:
  unsigned sum_ = 0;
};

Bytes said(std::uint16_t lines, std::uint64_t stream, std::uint64_t taken, std::uint64_t returned,
           Input bytes) {
  return joined({raw(lines), raw(stream), raw(taken), raw(returned), bytes});
}

}  // namespace

bool accepts(Input input) {
  Choices choices(input);
  const std::uint64_t written = choices.number<std::uint16_t>() * shm::kLine;
  const auto answers = choices.number<std::uint64_t>();
  const auto taken = choices.number<std::uint64_t>();
  const auto returned = choices.number<std::uint64_t>();
  BorrowingSink sink;
  const auto transport = make_shared_memory_transport();
  transport->set_sink(&sink);

  // The stranger listens, so that it can be connected to, and says hello.
  const shm::LocalAddress self{shm::this_host(), shm::new_name()};
  shm::Descriptor listener = shm::listen_as(self.name), socket;
  shm::Outbox box(kCapacity);
  box.put(with_checks(choices.piece(kCapacity), shm::kLine, shm::kBorrowedMagic), false);
  box.head().answers = answers;
  box.head().taken = taken;
  box.head().returned = returned;
  box.head().written = written;
  const auto name = shm::open_address(transport->address()).name;
  MUSTER_CHECK(shm::dial(name, socket) == shm::Dialed::yes);
  shm::Hello hello;
  hello.stream = 1;
  hello.capacity = kCapacity;
  std::copy(self.name.begin(), self.name.end(), hello.name);
  MUSTER_CHECK(shm::send_hello(socket, hello, box.descriptor()));
  static const auto* const segment =
      new std::vector<std::byte, BorrowableAllocator<std::byte>>(kSegmentBytes);
  shm::Handed handed;
  handed.segment = 1;
  handed.bytes = kSegmentBytes;
  MUSTER_CHECK(shm::send_segment(socket, handed, shm::segment_of(*segment)->descriptor));
  transport->connect(kPeer, shm::seal_address(self));
  static const auto* const borrowable =
      new std::vector<std::byte, BorrowableAllocator<std::byte>>(2 * shm::kRingBytes);
  const std::span<const std::byte> payload(*borrowable);
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
  for (const BorrowedBuffer borrow : sink.borrows) transport->give_back(borrow);
  return sink.accepted > 0;
}

std::vector<Bytes> seeds() {
  std::vector<Bytes> all;
  for (const std::uint16_t bytes : {0, 100, 3000}) {
    Frame frame;
    frame.bytes = bytes;
    const auto lines = static_cast<std::uint16_t>(1 + shm::in_lines(bytes) / shm::kLine);
    all.push_back(said(lines, 2, 64, 0, joined({raw(frame), Bytes(shm::in_lines(bytes), std::byte{90})})));
  }
  Frame frame;
  frame.magic = shm::kBorrowedMagic;
  frame.bytes = 1 << 15;
  frame.view = 2;
  shm::Reference reference;
  reference.segment = 1;
  reference.number = 1;
  shm::Forget forget;
  forget.segment = 1;
  all.push_back(said(3, 2, 128, 1, joined({raw(frame), raw(reference), raw(forget)})));
  return all;
}

}  // namespace muster::fuzz
