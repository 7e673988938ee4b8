#include "transport/ucx/ucx_transport.hpp"

#include <chrono>
#include <cstddef>
#include <set>
#include <unordered_map>
#include <vector>

#include "base/check.hpp"
#include "muster/error.hpp"
#include "transport/ucx/address.hpp"
#include "transport/ucx/configuration.hpp"
#include "transport/ucx/endpoint.hpp"
#include "transport/ucx/messages.hpp"
#include "transport/ucx/worker.hpp"

namespace muster {
namespace {

class UcxTransport final : public Transport {
 public:
  explicit UcxTransport(const UcxOptions& options)
      : messages_(options.on_gpu),
        worker_(options),
        address_(worker_.address()),
        carries_gpu_memory_(ucx_carries_gpu_memory(options)) {
    messages_.listen(worker_.get());
  }
  ~UcxTransport() override;

  std::string address() const override { return ucx::seal_address(address_); }
  std::string describe() const override;
  void set_sink(FrameSink* sink) override { messages_.set_sink(sink); }
  void connect(PeerId peer, const std::string& address) override;
  void disconnect(PeerId peer) override;
  void send(PeerId peer, const Frame& frame, std::span<const std::byte> payload, SendToken token) override;
  bool carries_gpu_memory() const override { return carries_gpu_memory_; }
  bool progress() override;
  int event_descriptor() const override { return worker_.event_descriptor(); }
  bool arm() override { return !closes_wait_ && failures_.empty() && worker_.arm(); }

 private:
  bool report_failures();
  bool close_endpoints();

  // In this order: UCX holds addresses of all that stand before the worker until the worker is gone.
  ucx::Messages messages_;
  std::vector<ucx::Endpoint*> failures_;  // failed within the last progress of the worker, not yet reported
  std::unordered_map<PeerId, std::unique_ptr<ucx::Endpoint>> connected_;
  std::vector<std::unique_ptr<ucx::Endpoint>> leaving_;  // disconnected, until nothing of them is in flight
  bool closes_wait_ = false;                             // some of the leaving have not begun to close
  ucx::Worker worker_;
  std::string address_;
  const bool carries_gpu_memory_;
};

void UcxTransport::connect(PeerId peer, const std::string& address) {
  const std::string bytes = ucx::open_address(address);
  if (bytes == address_) throw Error("a transport cannot be connected to itself");
  const auto old = connected_.find(peer);
  MUSTER_CHECK(old == connected_.end() || !old->second->usable(), "connected twice: peer", peer);
  disconnect(peer);
  connected_[peer] = std::make_unique<ucx::Endpoint>(worker_.get(), peer, bytes, failures_);
}

void UcxTransport::disconnect(PeerId peer) {
  const auto found = connected_.find(peer);
  if (found == connected_.end()) return;
  found->second->disconnect();
  leaving_.push_back(std::move(found->second));
  connected_.erase(found);
  closes_wait_ = true;
}

void UcxTransport::send(PeerId peer, const Frame& frame, std::span<const std::byte> payload,
                        SendToken token) {
  const auto found = connected_.find(peer);
  if (found == connected_.end() || !found->second->usable()) {
    messages_.sink().sent(peer, token, false);
    return;
  }
  messages_.send(*found->second, frame, payload, token);
}

bool UcxTransport::progress() {
  bool any = ucp_worker_progress(worker_.get()) != 0;
  any |= report_failures();
  any |= close_endpoints();
  return any;
}

bool UcxTransport::report_failures() {
  if (failures_.empty()) return false;
  std::vector<ucx::Endpoint*> failed;
  failed.swap(failures_);
  for (ucx::Endpoint* endpoint : failed) {
    endpoint->close();
    if (!endpoint->disconnected()) messages_.sink().peer_failed(endpoint->peer(), endpoint->reason());
  }
  return true;
}

bool UcxTransport::close_endpoints() {
  if (leaving_.empty()) return false;
  closes_wait_ = false;
  // By index: the sink may disconnect others while sends come back.
  for (std::size_t index = 0; index < leaving_.size(); ++index) {
    leaving_[index]->close();
    if (leaving_[index]->overdue()) messages_.abandon(*leaving_[index]);
  }
  return std::erase_if(leaving_, [this](const auto& endpoint) {
           return endpoint->ended() && !messages_.receives_from(*endpoint);
         }) != 0;
}

std::string UcxTransport::describe() const {
  std::set<std::string> names;
  for (const auto& [peer, endpoint] : connected_) {
    if (endpoint->usable()) names.merge(ucx::transports_of(endpoint->get()));
  }
  if (names.empty()) names = worker_.transports();
  std::string text = "ucx " + ucx_version() + ":";
  std::string separator = " ";
  for (const std::string& name : names) {
    text += separator + name;
    separator = ", ";
  }
  return text;
}

UcxTransport::~UcxTransport() {
  messages_.deafen();
  while (!connected_.empty()) disconnect(connected_.begin()->first);
  const auto give_up = std::chrono::steady_clock::now() + std::chrono::seconds(kCloseSecondsMax);
  do {
    progress();
  } while (!leaving_.empty() && std::chrono::steady_clock::now() < give_up);
}

}  // namespace

std::unique_ptr<Transport> make_ucx_transport(const UcxOptions& options) {
  return std::make_unique<UcxTransport>(options);
}

}  // namespace muster
