// muster devices: what this machine can compute on, under the names that a job gives it. Starts nothing.
#include <unistd.h>

#include <algorithm>
#include <fstream>
#include <iostream>
#include <sstream>

#include <nlohmann/json.hpp>

#include "cli/job_arguments.hpp"
#include "gpu/device.hpp"
#include "muster/error.hpp"
#include "transport/collective/sums/kernels.hpp"
#include "transport/ucx/ucx_transport.hpp"

namespace muster::cli {

namespace {

constexpr const char* kDevicesUsage =
    "Usage: muster devices [--json]\n\n"
    "Prints what this machine can compute on: the names are those of `cluster.devices` in a job. A GPU that "
    "is there\nand cannot be used is listed with the reason.\n";

struct Survey {
  DeviceInventory inventory;
  std::string processor;
  std::uint64_t memory_bytes = 0;
  std::vector<std::string> ucx_memory;
  std::string ucx_reason;  // why it is not known
};

// As the kernel calls it; empty where it has no name.
std::string processor_name() {
  std::ifstream file("/proc/cpuinfo");
  for (std::string line; std::getline(file, line);) {
    const std::size_t colon = line.find(": ");
    if (line.starts_with("model name") && colon != std::string::npos) return line.substr(colon + 2);
  }
  return {};
}

Survey look() {
  Survey survey;
  survey.inventory = discover_devices();
  survey.processor = processor_name();
  survey.memory_bytes =
      static_cast<std::uint64_t>(sysconf(_SC_PHYS_PAGES)) * static_cast<std::uint64_t>(sysconf(_SC_PAGESIZE));
  try {
    prepare_ucx_process();
    survey.ucx_memory = ucx_memory_types({});
  } catch (const Error& error) {
    survey.ucx_reason = error.what();
  }
  return survey;
}

bool moves_cuda(const Survey& survey) {
  return std::find(survey.ucx_memory.begin(), survey.ucx_memory.end(), "cuda") != survey.ucx_memory.end();
}

std::string joined(const std::vector<std::string>& words) {
  std::string text;
  for (const std::string& word : words) text += (text.empty() ? "" : ", ") + word;
  return text;
}

std::string gib(std::uint64_t bytes) {
  std::ostringstream text;
  text.precision(1);
  text << std::fixed << static_cast<double>(bytes) / (1 << 30) << " GiB";
  return text.str();
}

std::string gpu_text(const CudaGpu& gpu) {
  std::string text = gpu.name;
  if (gpu.compute_capability.empty()) return text;
  text += ", " + gib(gpu.memory_bytes) + ", compute capability " + gpu.compute_capability + ", " +
          std::to_string(gpu.multiprocessors) + " multiprocessors, PCI " + gpu.bus;
  std::vector<std::string> peers;
  for (const int peer : gpu.peers) peers.push_back("cuda:" + std::to_string(peer));
  return text + (peers.empty() ? ", no direct access to other GPUs" : ", direct access to " + joined(peers));
}

void print_text(const Survey& survey) {
  const DeviceInventory& inventory = survey.inventory;
  for (std::size_t i = 0; i < inventory.cores.size(); ++i)
    std::cout << "cpu:" << i << "   core " << inventory.cores[i] << "\n";
  for (std::size_t i = 0; i < inventory.cuda_gpus.size(); ++i)
    std::cout << "cuda:" << i << "  " << gpu_text(inventory.cuda_gpus[i]) << "\n";
  const std::string name = survey.processor.empty() ? "" : survey.processor + ", ";
  std::cout << "\nprocessor   " << name << "vectors " << kernels::chosen() << ", " << gib(survey.memory_bytes)
            << "\n";
  std::cout << "CUDA        "
            << (inventory.cuda_reason.empty() ? std::to_string(inventory.cuda_devices) + " to be used"
                                              : "none to be used: " + inventory.cuda_reason)
            << "; runtime " << (cuda_version().empty() ? "none" : cuda_version()) << ", driver for "
            << (cuda_driver_version().empty() ? "none" : cuda_driver_version()) << "\n";
  std::cout << "UCX         " << ucx_version() << ", ";
  if (!survey.ucx_reason.empty()) {
    std::cout << survey.ucx_reason << "\n";
    return;
  }
  std::cout << "moves memory of: " << joined(survey.ucx_memory)
            << (moves_cuda(survey) ? "" : " (not of CUDA: what leaves a GPU goes through host memory)")
            << "\n";
}

nlohmann::json json_of(const CudaGpu& gpu, std::size_t number) {
  return {{"name", "cuda:" + std::to_string(number)},
          {"gpu", gpu.name},
          {"compute_capability", gpu.compute_capability},
          {"memory_bytes", gpu.memory_bytes},
          {"multiprocessors", gpu.multiprocessors},
          {"bus", gpu.bus},
          {"peers", gpu.peers}};
}

void print_json(const Survey& survey) {
  const DeviceInventory& inventory = survey.inventory;
  nlohmann::json cpus = nlohmann::json::array(), gpus = nlohmann::json::array();
  for (std::size_t i = 0; i < inventory.cores.size(); ++i)
    cpus.push_back({{"name", "cpu:" + std::to_string(i)}, {"core", inventory.cores[i]}});
  for (std::size_t i = 0; i < inventory.cuda_gpus.size(); ++i)
    gpus.push_back(json_of(inventory.cuda_gpus[i], i));
  const nlohmann::json all{
      {"cpus", cpus},
      {"processor", survey.processor},
      {"vectors", kernels::chosen()},
      {"memory_bytes", survey.memory_bytes},
      {"gpus", gpus},
      {"cuda",
       {{"usable", inventory.cuda_devices},
        {"reason", inventory.cuda_reason},
        {"runtime", cuda_version()},
        {"driver", cuda_driver_version()}}},
      {"ucx",
       {{"version", ucx_version()}, {"memory_types", survey.ucx_memory}, {"reason", survey.ucx_reason}}}};
  std::cout << all.dump() << "\n";
}

}  // namespace

int devices_command(const Arguments& arguments, const Registry&) {
  po::options_description options("Options");
  options.add_options()("json", "print one line of JSON")("help", "this text");
  int code = kCompleted;
  const auto given = parse("devices", kDevicesUsage, arguments, options, nullptr, code);
  if (!given) return code;
  const Survey survey = look();
  given->count("json") ? print_json(survey) : print_text(survey);
  return kCompleted;
}

}  // namespace muster::cli
