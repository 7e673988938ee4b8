#include "transport/ucx/worker.hpp"

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <functional>
#include <iterator>
#include <sstream>
#include <string_view>

#include "transport/ucx/configuration.hpp"

namespace muster::ucx {
namespace {

/// What a printing function of UCX prints.
std::string printed(const std::function<void(FILE*)>& print) {
  char* text = nullptr;
  std::size_t size = 0;
  FILE* stream = open_memstream(&text, &size);
  if (stream == nullptr) return {};
  print(stream);
  std::fclose(stream);
  std::string result(text, size);
  std::free(text);
  return result;
}

/// Names in front of a slash, in lines that hold the mark: "lane[0]:  2:sysv/memory.0 ..." gives "sysv".
/// UCX 1.13 has no other way to ask.
std::set<std::string> names_in(const std::string& text, const std::string& mark) {
  std::set<std::string> names;
  std::istringstream lines(text);
  for (std::string line; std::getline(lines, line);) {
    const std::size_t slash = line.find('/');
    if (line.find(mark) == std::string::npos || slash == std::string::npos) continue;
    const std::size_t before = line.find_last_of(" :", slash);
    names.insert(line.substr(before + 1, slash - before - 1));
  }
  return names;
}

ucp_context_h make_context(const UcxOptions& options) {
  const Configuration configuration(options);
  ucp_params_t parameters{};
  parameters.field_mask = UCP_PARAM_FIELD_FEATURES;
  parameters.features = UCP_FEATURE_AM | UCP_FEATURE_WAKEUP;
  ucp_context_h context = nullptr;
  require(ucp_init(&parameters, configuration.get(), &context), "no context");
  return context;
}

std::set<std::string> transports_in(ucp_context_h context) {
  return names_in(printed([context](FILE* out) { ucp_context_print_info(context, out); }), "resource ");
}

ucp_worker_h make_worker(ucp_context_h context) {
  ucp_worker_params_t parameters{};
  parameters.field_mask = UCP_WORKER_PARAM_FIELD_THREAD_MODE;
  parameters.thread_mode = UCS_THREAD_MODE_SERIALIZED;
  ucp_worker_h worker = nullptr;
  require(ucp_worker_create(context, &parameters, &worker), "no worker");
  return worker;
}

}  // namespace

Worker::Worker(const UcxOptions& options) : context_(make_context(options)) {
  try {
    worker_ = make_worker(context_);
    require(ucp_worker_get_efd(worker_, &event_descriptor_), "no event descriptor");
  } catch (...) {
    if (worker_ != nullptr) ucp_worker_destroy(worker_);
    ucp_cleanup(context_);
    throw;
  }
}

Worker::~Worker() {
  ucp_worker_destroy(worker_);
  ucp_cleanup(context_);
}

std::string Worker::address() const {
  ucp_address_t* address = nullptr;
  std::size_t size = 0;
  require(ucp_worker_get_address(worker_, &address, &size), "no worker address");
  std::string bytes(reinterpret_cast<const char*>(address), size);
  ucp_worker_release_address(worker_, address);
  return bytes;
}

bool Worker::arm() {
  return ucp_worker_arm(worker_) == UCS_OK;
}

std::set<std::string> Worker::transports() const {
  return transports_in(context_);
}

std::set<std::string> transports_of(ucp_ep_h endpoint) {
  return names_in(printed([endpoint](FILE* out) { ucp_ep_print_info(endpoint, out); }), "lane[");
}

}  // namespace muster::ucx

namespace muster {

std::vector<std::string> ucx_memory_types(const UcxOptions& options) {
  const ucp_context_h context = ucx::make_context(options);
  ucp_context_attr_t attributes{};
  attributes.field_mask = UCP_ATTR_FIELD_MEMORY_TYPES;
  const ucs_status_t status = ucp_context_query(context, &attributes);
  ucp_cleanup(context);
  ucx::require(status, "no answer about memory");
  std::vector<std::string> names;
  for (int type = UCS_MEMORY_TYPE_HOST; type < UCS_MEMORY_TYPE_LAST; ++type) {
    if ((attributes.memory_types >> type & 1) != 0) names.emplace_back(ucs_memory_type_names[type]);
  }
  return names;
}

bool ucx_carries_gpu_memory(const UcxOptions& options) {
  if (options.on_gpu == nullptr) return false;
  const std::vector<std::string> memory = ucx_memory_types(options);
  return std::find(memory.begin(), memory.end(), "cuda") != memory.end();
}

bool ucx_finds_fabric(const UcxOptions& options) {
  const ucp_context_h context = ucx::make_context(options);
  const std::set<std::string> names = ucx::transports_in(context);
  ucp_cleanup(context);
  return std::any_of(names.begin(), names.end(), [](const std::string& name) {
    constexpr std::string_view kFabrics[] = {"rc_", "dc_", "ud_", "ugni_"};
    return std::any_of(std::begin(kFabrics), std::end(kFabrics),
                       [&](std::string_view fabric) { return name.starts_with(fabric); });
  });
}

}  // namespace muster
