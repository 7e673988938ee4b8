// Worlds of a few connected transports in one process, driven by the test: real ones, and a simulated one.
#pragma once

#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "transport/simulated/network.hpp"
#include "transport/transport.hpp"

namespace muster::testing {

/// Bytes that differ with each message and place.
std::vector<std::byte> pattern(std::uint64_t message, std::size_t bytes);

/// A frame of one message; `round` is its number.
Frame frame_of(std::uint32_t from, std::uint64_t message, std::size_t bytes);

/// Writes down all that it is told, and checks the order of the calls.
class RecordingSink final : public FrameSink {
 public:
  using Key = std::pair<std::uint32_t, std::uint64_t>;  // sender, message

  std::span<std::byte> place(const Frame& frame) override;
  void arrived(const Frame& frame, std::span<std::byte> payload) override;
  void dropped(const Frame& frame) override;
  void sent(PeerId to, SendToken token, bool ok) override;
  void peer_failed(PeerId peer, const std::string& reason) override;
  void refused(const std::string& reason) override;

  std::size_t half_arrived() const { return placed.size(); }
  std::size_t tokens_back() const { return sent_ok + sent_failed; }

  bool refuse_places = false;
  std::map<Key, std::vector<std::byte>> placed;  // not yet whole
  std::set<Key> whole;
  std::size_t drops = 0;
  std::size_t places_refused = 0;
  std::multiset<SendToken> tokens;
  std::size_t sent_ok = 0;
  std::size_t sent_failed = 0;
  std::vector<PeerId> failures;
  std::vector<std::string> refusals;
  std::size_t calls = 0;
};

struct WorldNode {
  RecordingSink sink;  // before the transport, which is destroyed first
  std::unique_ptr<Transport> transport;
  std::vector<std::vector<std::byte>> buffers;  // of its sends

  /// Sends `pattern(message, bytes)`, with the message as the token.
  void send(PeerId to, std::uint32_t from, std::uint64_t message, std::size_t bytes);
};

class World {
 public:
  virtual ~World() = default;

  WorldNode& add(const std::string& name);
  /// Makes things happen until it is done; false if the time is over.
  virtual bool until(const std::function<bool()>& done) = 0;
  /// Makes things happen for a while, also after everything has ended.
  virtual void settle() = 0;

 protected:
  virtual std::unique_ptr<Transport> attach(const std::string& name) = 0;
  std::vector<std::unique_ptr<WorldNode>> nodes_;
};

using MakeTransport = std::function<std::unique_ptr<Transport>()>;

/// "ucx", "ucx_tcp", "ucx_gpus" (all payloads go as those of GPUs), "tcp", "shared_memory", or "node":
/// shared memory beside UCX.
MakeTransport real_transport(const std::string& kind);
std::unique_ptr<World> make_real_world(MakeTransport make);
std::unique_ptr<World> make_simulated_world(std::uint64_t seed);

/// Both know each other under these numbers.
void connect(WorldNode& a, PeerId number_of_a, WorldNode& b, PeerId number_of_b);

/// Virtual time: events by time, then in the order in which they were handed in.
class EventQueue {
 public:
  void after(std::chrono::nanoseconds delay, std::function<void()> event);
  /// Runs the next event; false if there is none.
  bool step();
  std::chrono::nanoseconds now() const { return now_; }
  SimulatedNetwork::After handle() {
    return [this](std::chrono::nanoseconds delay, std::function<void()> event) {
      after(delay, std::move(event));
    };
  }

 private:
  std::chrono::nanoseconds now_{0};
  std::uint64_t number_ = 0;
  std::map<std::pair<std::chrono::nanoseconds, std::uint64_t>, std::function<void()>> events_;
};

/// Sets an environment variable for as long as it lives; empty: leaves it alone.
class ScopedVariable {
 public:
  ScopedVariable(const char* name, const std::string& value);
  ~ScopedVariable();
  ScopedVariable(const ScopedVariable&) = delete;
  ScopedVariable& operator=(const ScopedVariable&) = delete;

 private:
  const char* name_;
  const bool set_;
  std::string before_;
  bool was_set_ = false;
};

}  // namespace muster::testing
