// What one process tells another of a preflight.
#pragma once

#include <optional>
#include <string>

#include "actors/preflight/preflight.hpp"

namespace muster {

/// What a preflight in another process is asked.
struct PreflightRequest {
  Job job;
  Trial trial = Trial::on_host;
  ContractScope scope;
  std::optional<NodeWork> node;  ///< only what check_contract_of_node looks at
};

std::string to_text(const PreflightRequest& request);
/// Throws Error for what is none.
PreflightRequest preflight_request(const std::string& text, const Declarations& declarations);

std::string to_text(const Preflight& flight);
/// The job is not in the text: `job` is what the answer is about. Throws Error for what is none.
Preflight preflight_of_text(const std::string& text, const Declarations& declarations);

}  // namespace muster
