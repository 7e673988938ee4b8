#include "transport/ucx/endpoint.hpp"

#include "transport/ucx/configuration.hpp"

namespace muster::ucx {
namespace {

// A forced close ends messages at once, within a few calls of progress.
constexpr auto kMessagesEndWithin = std::chrono::milliseconds(20);

}  // namespace

Endpoint::Endpoint(ucp_worker_h worker, PeerId peer, const std::string& worker_address,
                   std::vector<Endpoint*>& failures)
    : peer_(peer), failures_(failures) {
  ucp_ep_params_t parameters{};
  parameters.field_mask = UCP_EP_PARAM_FIELD_REMOTE_ADDRESS | UCP_EP_PARAM_FIELD_ERR_HANDLING_MODE |
                          UCP_EP_PARAM_FIELD_ERR_HANDLER;
  parameters.address = reinterpret_cast<const ucp_address_t*>(worker_address.data());
  parameters.err_mode = UCP_ERR_HANDLING_MODE_PEER;
  parameters.err_handler.cb = &Endpoint::on_error;
  parameters.err_handler.arg = this;
  require(ucp_ep_create(worker, &parameters, &endpoint_), "no connection to peer " + std::to_string(peer));
}

void Endpoint::on_error(void* self, ucp_ep_h, ucs_status_t status) {
  auto& endpoint = *static_cast<Endpoint*>(self);
  if (endpoint.state_ != State::open) return;
  endpoint.state_ = State::failed;
  endpoint.reason_ = ucs_status_string(status);
  endpoint.failures_.push_back(&endpoint);
}

void Endpoint::close() {
  if (close_started_) return;
  close_started_ = true;
  close_started_at_ = std::chrono::steady_clock::now();
  ucp_request_param_t parameters{};
  parameters.op_attr_mask = UCP_OP_ATTR_FIELD_FLAGS;
  parameters.flags = UCP_EP_CLOSE_FLAG_FORCE;
  close_request_ = ucp_ep_close_nbx(endpoint_, &parameters);
}

bool Endpoint::overdue() const {
  return close_started_ && std::chrono::steady_clock::now() - close_started_at_ >= kMessagesEndWithin;
}

bool Endpoint::ended() {
  if (!close_started_ || sends_in_flight_ != 0) return false;
  if (!UCS_PTR_IS_PTR(close_request_)) return true;
  if (ucp_request_check_status(close_request_) == UCS_INPROGRESS) return false;
  ucp_request_free(close_request_);
  close_request_ = nullptr;
  return true;
}

}  // namespace muster::ucx
