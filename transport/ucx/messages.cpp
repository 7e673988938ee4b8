#include "transport/ucx/messages.hpp"

#include <cstring>
#include <optional>
#include <string>
#include <vector>

#include "base/check.hpp"
#include "transport/ucx/configuration.hpp"

namespace muster::ucx {

void Messages::listen(ucp_worker_h worker) {
  worker_ = worker;
  ucp_am_handler_param_t handler{};
  handler.field_mask = UCP_AM_HANDLER_PARAM_FIELD_ID | UCP_AM_HANDLER_PARAM_FIELD_CB |
                       UCP_AM_HANDLER_PARAM_FIELD_ARG | UCP_AM_HANDLER_PARAM_FIELD_FLAGS;
  handler.id = kFrameMessage;
  handler.cb = &Messages::on_message;
  handler.arg = this;
  handler.flags = UCP_AM_FLAG_WHOLE_MSG;
  require(ucp_worker_set_am_recv_handler(worker, &handler), "no handler of active messages");
}

// ---- sending

void Messages::send(Endpoint& endpoint, const Frame& frame, std::span<const std::byte> payload,
                    SendToken token) {
  MUSTER_CHECK(payload.size() == frame.bytes, "payload", payload.size(), "frame", frame.bytes);
  Sending& record = sending_.take();
  record = {checked(frame), token, &endpoint, this};  // UCX reads the header until the send has ended
  endpoint.send_started();
  ucp_request_param_t parameters{};
  parameters.op_attr_mask = UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA;
  parameters.cb.send = &Messages::on_sent;
  parameters.user_data = &record;
  if (on_gpu_ && !payload.empty() && on_gpu_(payload.data())) {  // the host cannot copy it to its place
    parameters.op_attr_mask |= UCP_OP_ATTR_FIELD_FLAGS;
    parameters.flags = UCP_AM_SEND_FLAG_RNDV;
  }
  const ucs_status_ptr_t request =
      ucp_am_send_nbx(endpoint.get(), kFrameMessage, &record.frame, sizeof(Frame), payload.data(),
                      payload.size(), &parameters);
  if (!UCS_PTR_IS_PTR(request)) end_send(record, UCS_PTR_STATUS(request));
}

void Messages::on_sent(void* request, ucs_status_t status, void* record) {
  ucp_request_free(request);
  auto& sending = *static_cast<Sending*>(record);
  Messages& messages = *sending.owner;
  if (sending.endpoint == nullptr) return messages.sending_.give_back(sending);  // it was abandoned
  messages.end_send(sending, status);
}

template <class Act>
void Messages::for_each_from(const Endpoint& endpoint, Act&& act) {
  receiving_.for_each([&](Receiving& record) {
    if (record.in_flight && record.frame.from == endpoint.peer() &&
        record.began <= endpoint.close_started_at())
      act(record);
  });
}

bool Messages::receives_from(const Endpoint& endpoint) {
  bool any = false;
  for_each_from(endpoint, [&](Receiving&) { any = true; });
  return any;
}

// UCX 1.13 now and then forgets large messages whose peer died in the middle: the forced close ends, and they
// never do. Their records stay UCX's.
void Messages::abandon(Endpoint& endpoint) {
  std::vector<Frame> frames;
  for_each_from(endpoint, [&](Receiving& record) {
    record.in_flight = false;
    frames.push_back(record.frame);
  });
  for (const Frame& frame : frames) sink_->abandoned(frame);
  std::vector<SendToken> tokens;
  sending_.for_each([&](Sending& record) {
    if (record.endpoint != &endpoint) return;
    record.endpoint = nullptr;
    endpoint.send_ended();
    tokens.push_back(record.token);
  });
  for (const SendToken token : tokens) sink_->sent(endpoint.peer(), token, false);
}

void Messages::end_send(Sending& record, ucs_status_t status) {
  Endpoint& endpoint = *record.endpoint;
  const PeerId peer = endpoint.peer();
  const SendToken token = record.token;
  const bool ok = status == UCS_OK && !endpoint.disconnected();
  endpoint.send_ended();
  record.endpoint = nullptr;
  sending_.give_back(record);
  sink_->sent(peer, token, ok);
}

// ---- receiving

ucs_status_t Messages::on_message(void* self, const void* header, std::size_t header_bytes, void* data,
                                  std::size_t bytes, const ucp_am_recv_param_t* parameters) {
  // UCS_OK without having begun a receive: UCX releases the data, and a rendezvous ends on the sender's side.
  auto& messages = *static_cast<Messages*>(self);
  std::string why;
  const auto frame = decode_frame({static_cast<const std::byte*>(header), header_bytes}, why);
  if (frame && frame->bytes != bytes) {
    why = "a payload of " + std::to_string(bytes) + " bytes, the frame says " + std::to_string(frame->bytes);
  }
  if (!why.empty()) {
    messages.sink_->refused(why);
    return UCS_OK;
  }
  const bool large = (parameters->recv_attr & UCP_AM_RECV_ATTR_FLAG_RNDV) != 0;
  if (bytes == 0) {
    messages.sink_->arrived(*frame, {});
    return UCS_OK;
  }
  const std::span<std::byte> place = messages.sink_->place(*frame);
  if (place.empty()) return UCS_OK;
  MUSTER_CHECK(place.size() == frame->bytes, "place", place.size(), "frame", frame->bytes);
  return large ? messages.receive_large(*frame, data, place) : messages.receive_small(*frame, data, place);
}

ucs_status_t Messages::receive_small(const Frame& frame, const void* data, std::span<std::byte> place) {
  if (on_gpu_ && on_gpu_(place.data())) {  // its sender did not ask for a rendezvous
    sink_->dropped(frame);
    sink_->refused("a small payload for the memory of a GPU, from peer " + std::to_string(frame.from));
    return UCS_OK;
  }
  std::memcpy(place.data(), data, place.size());
  sink_->arrived(frame, place);
  return UCS_OK;
}

ucs_status_t Messages::receive_large(const Frame& frame, void* descriptor, std::span<std::byte> place) {
  Receiving& record = receiving_.take();
  record = {frame, place, this, std::chrono::steady_clock::now(), true};
  ucp_request_param_t parameters{};
  parameters.op_attr_mask =
      UCP_OP_ATTR_FIELD_CALLBACK | UCP_OP_ATTR_FIELD_USER_DATA | UCP_OP_ATTR_FLAG_NO_IMM_CMPL;
  parameters.cb.recv_am = &Messages::on_received;
  parameters.user_data = &record;
  const ucs_status_ptr_t request =
      ucp_am_recv_data_nbx(worker_, descriptor, place.data(), place.size(), &parameters);
  if (!UCS_PTR_IS_PTR(request)) end_receive(record, UCS_PTR_STATUS(request) == UCS_OK);
  return UCS_INPROGRESS;  // the descriptor is UCX's again, also if the receive could not begin
}

void Messages::on_received(void* request, ucs_status_t status, std::size_t bytes, void* record) {
  if (request != nullptr) ucp_request_free(request);
  auto& receiving = *static_cast<Receiving*>(record);
  Messages& messages = *receiving.owner;
  if (!receiving.in_flight) return messages.receiving_.give_back(receiving);  // it was abandoned
  messages.end_receive(receiving, status == UCS_OK && bytes == receiving.frame.bytes);
}

void Messages::end_receive(Receiving& record, bool ok) {
  const Frame frame = record.frame;
  const std::span<std::byte> place = record.place;
  record.in_flight = false;
  receiving_.give_back(record);
  if (ok) {
    sink_->arrived(frame, place);
  } else {
    sink_->dropped(frame);
  }
}

}  // namespace muster::ucx
