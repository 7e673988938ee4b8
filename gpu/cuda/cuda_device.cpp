#include "gpu/cuda/cuda_device.hpp"

#include <algorithm>
#include <utility>

#include "base/check.hpp"
#include "gpu/cuda/cuda_vectors.hpp"
#include "gpu/cuda/failure.hpp"
#include "gpu/cuda/kernels.hpp"
#include "gpu/cuda_make.hpp"
#include "gpu/gpu_guard.hpp"

namespace muster::cuda {
namespace {

std::string name_of(int number) {
  return "cuda:" + std::to_string(number);
}

std::size_t bound_of(int number, const DeviceMemory& memory) {
  if (memory.bound_bytes != 0) return memory.bound_bytes;
  const GpuGuard here(number, name_of(number));
  std::size_t free = 0, all = 0;
  must(cudaMemGetInfo(&free, &all), name_of(number), "cudaMemGetInfo");
  return free;
}

/// Memory of the GPU; null when there is no more.
MemoryPool::Source gpu_memory(int number) {
  return {[number](std::size_t bytes) -> void* {
            const GpuGuard here(number, name_of(number));
            void* memory = nullptr;
            const cudaError_t code = cudaMalloc(&memory, bytes);
            if (code == cudaSuccess) return memory;
            if (code != cudaErrorMemoryAllocation) must(code, name_of(number), "cudaMalloc");
            static_cast<void>(cudaGetLastError());
            return nullptr;
          },
          [](void* memory) { static_cast<void>(cudaFree(memory)); }};
}

MemoryPool::Source pinned_memory(int number) {
  return {[number](std::size_t bytes) -> void* {
            const GpuGuard here(number, name_of(number));
            void* memory = nullptr;
            const cudaError_t code = cudaHostAlloc(&memory, bytes, cudaHostAllocPortable);
            if (code == cudaSuccess) return memory;
            if (code != cudaErrorMemoryAllocation) must(code, name_of(number), "cudaHostAlloc");
            static_cast<void>(cudaGetLastError());
            return nullptr;
          },
          [](void* memory) { static_cast<void>(cudaFreeHost(memory)); }};
}

}  // namespace

CudaDevice::CudaDevice(int number, const DeviceMemory& memory)
    : number_(number),
      name_(name_of(number)),
      memory_({bound_of(number, memory), name_, memory.key}, gpu_memory(number)),
      pinned_({memory.pinned_bound_bytes, "pinned memory of " + name_, memory.pinned_key},
              pinned_memory(number)) {
  const GpuGuard here(number_, name_);
  int multiprocessors = 1;
  must(cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, number_), name_,
       "cudaDeviceGetAttribute");
  try {
    make_streams();
    vectors_ = make_cuda_vectors(number_, name_, {streams_.work, multiprocessors});
  } catch (...) {
    destroy_streams();
    throw;
  }
}

// Arrays, marks and recorded work keep their device alive, so there are none. What CUDA says here has no one
// to be told to.
CudaDevice::~CudaDevice() {
  int before = 0;
  static_cast<void>(cudaGetDevice(&before));
  static_cast<void>(cudaSetDevice(number_));
  wait_for_streams();
  for (const cudaEvent_t event : spare_events_) static_cast<void>(cudaEventDestroy(event));
  destroy_streams();
  memory_.trim();
  pinned_.trim();
  go_back_to(before);
}

// Not blocking: nothing waits for the legacy default stream, nor that for us.
void CudaDevice::make_streams() {
  must(cudaStreamCreateWithFlags(&streams_.work, cudaStreamNonBlocking), name_, "cudaStreamCreateWithFlags");
  must(cudaStreamCreateWithFlags(&streams_.aside, cudaStreamNonBlocking), name_, "cudaStreamCreateWithFlags");
  const MutexLock lock(mutex_);
  must(cudaEventCreateWithFlags(&last_copy_.passed, cudaEventDisableTiming), name_,
       "cudaEventCreateWithFlags");
}

void CudaDevice::destroy_streams() noexcept {
  {
    const MutexLock lock(mutex_);
    if (last_copy_.passed != nullptr)
      static_cast<void>(cudaEventDestroy(std::exchange(last_copy_.passed, nullptr)));
  }
  if (streams_.aside != nullptr) static_cast<void>(cudaStreamDestroy(std::exchange(streams_.aside, nullptr)));
  if (streams_.work != nullptr) static_cast<void>(cudaStreamDestroy(std::exchange(streams_.work, nullptr)));
}

std::string CudaDevice::hardware() const {
  cudaDeviceProp properties{};
  must(cudaGetDeviceProperties(&properties, number_), name_, "cudaGetDeviceProperties");
  return properties.name;
}

void* CudaDevice::take(std::size_t bytes) {
  const MutexLock lock(mutex_);
  MUSTER_CHECK(!recording_, "bytes", bytes, "on", name_);
  return memory_.take(bytes);
}

// Whoever gets the memory next puts work behind the work that is there. Copies aside are not in that order:
// the work waits for those that were put until now.
void CudaDevice::give(void* memory) noexcept {
  const MutexLock lock(mutex_);
  MUSTER_CHECK(!recording_, "on", name_);
  if (std::exchange(last_copy_.pending, false))
    static_cast<void>(cudaStreamWaitEvent(streams_.work, last_copy_.passed, 0));
  memory_.give(memory);
}

void* CudaDevice::take_pinned(std::size_t bytes) {
  const MutexLock lock(mutex_);
  MUSTER_CHECK(!recording_, "bytes", bytes, "on", name_);
  return pinned_.take(bytes);
}

void CudaDevice::wait_for_streams() const noexcept {
  for (const cudaStream_t stream : {streams_.work, streams_.aside})
    static_cast<void>(cudaStreamSynchronize(stream));
}

void CudaDevice::give_pinned(void* memory) noexcept {
  wait_for_streams();
  const MutexLock lock(mutex_);
  MUSTER_CHECK(!recording_, "on", name_);
  pinned_.give(memory);
}

// The driver pins whole pages, and refuses what it has pinned already. What is refused is no error of the
// work that was put before.
std::string CudaDevice::pin(void* host, std::size_t bytes) {
  const GpuGuard here(number_, name_);
  {
    const MutexLock lock(mutex_);
    MUSTER_CHECK(!recording_ && bytes > 0 && !ranges_.contains(host), "bytes", bytes, "on", name_);
    if (!pinned_.set_aside(bytes))
      return "the bound of pinned memory, " + std::to_string(pinned_.use().bound_bytes) +
             " bytes, is reached";
    ranges_.emplace(host, bytes);
  }
  const cudaError_t code = cudaHostRegister(host, bytes, cudaHostRegisterPortable);
  if (code == cudaSuccess) return {};
  static_cast<void>(cudaGetLastError());
  const MutexLock lock(mutex_);
  ranges_.erase(host);
  pinned_.put_back(bytes);
  return std::string("cudaHostRegister: ") + cudaGetErrorString(code);
}

void CudaDevice::unpin(void* host) noexcept {
  wait_for_streams();
  int before = number_;
  static_cast<void>(cudaGetDevice(&before));
  if (before != number_) static_cast<void>(cudaSetDevice(number_));
  static_cast<void>(cudaHostUnregister(host));
  if (before != number_) go_back_to(before);
  const MutexLock lock(mutex_);
  const auto range = ranges_.find(host);
  MUSTER_CHECK(!recording_ && range != ranges_.end(), "on", name_);
  pinned_.put_back(range->second);
  ranges_.erase(range);
}

MemoryUse CudaDevice::memory() const {
  const MutexLock lock(mutex_);
  return memory_.use();
}

MemoryUse CudaDevice::pinned() const {
  const MutexLock lock(mutex_);
  return pinned_.use();
}

cudaEvent_t CudaDevice::an_event() {
  {
    const MutexLock lock(mutex_);
    if (!spare_events_.empty()) {
      const cudaEvent_t event = spare_events_.back();
      spare_events_.pop_back();
      return event;
    }
    spare_events_.reserve(spare_events_.capacity() + 1);  // forget() must not fail
  }
  cudaEvent_t event = nullptr;
  must(cudaEventCreateWithFlags(&event, cudaEventDisableTiming), name_, "cudaEventCreateWithFlags");
  return event;
}

void CudaDevice::forget(void* event) noexcept {
  const MutexLock lock(mutex_);
  spare_events_.push_back(static_cast<cudaEvent_t>(event));
}

Mark CudaDevice::mark_of(cudaStream_t stream) {
  Mark mark(shared_from_this(), an_event());
  must(cudaEventRecord(static_cast<cudaEvent_t>(mark.event()), stream), name_, "cudaEventRecord");
  return mark;
}

Mark CudaDevice::mark() {
  const GpuGuard here(number_, name_);
  return mark_of(streams_.work);
}

bool CudaDevice::reached(const Mark& mark) {
  if (mark.event() == nullptr) return true;
  const cudaError_t code = cudaEventQuery(static_cast<cudaEvent_t>(mark.event()));
  if (code == cudaErrorNotReady) return false;
  must(code, name_, "cudaEventQuery");
  return true;
}

void CudaDevice::wait(const Mark& mark) {
  if (mark.event() == nullptr) return;
  must(cudaEventSynchronize(static_cast<cudaEvent_t>(mark.event())), name_, "cudaEventSynchronize");
}

void CudaDevice::synchronize() {
  const GpuGuard here(number_, name_);
  for (const cudaStream_t stream : {streams_.work, streams_.aside})
    must(cudaStreamSynchronize(stream), name_, "cudaStreamSynchronize");
}

// cudaMemcpyDefault knows each pointer's side by itself; pageable host memory is taken for what it is.
void CudaDevice::put_copy(const void* from, void* to, std::size_t bytes, Direction) {
  if (bytes == 0) return;
  const GpuGuard here(number_, name_);
  must(cudaMemcpyAsync(to, from, bytes, cudaMemcpyDefault, streams_.work), name_, "cudaMemcpyAsync");
}

Mark CudaDevice::put_aside(const Mark& after, const void* from, void* host, std::size_t bytes) {
  const GpuGuard here(number_, name_);
  if (after.event() != nullptr)
    must(cudaStreamWaitEvent(streams_.aside, static_cast<cudaEvent_t>(after.event()), 0), name_,
         "cudaStreamWaitEvent");
  if (bytes != 0)
    must(cudaMemcpyAsync(host, from, bytes, cudaMemcpyDefault, streams_.aside), name_,
         "cudaMemcpyAsync aside");
  {
    const MutexLock lock(mutex_);
    must(cudaEventRecord(last_copy_.passed, streams_.aside), name_, "cudaEventRecord");
    last_copy_.pending = true;
  }
  return mark_of(streams_.aside);
}

void CudaDevice::put_rows(const void* from, std::size_t stride, void* host, std::size_t width,
                          std::size_t rows) {
  if (rows == 0) return;
  const GpuGuard here(number_, name_);
  must(cudaMemcpy2DAsync(host, width, from, stride, width, rows, cudaMemcpyDefault, streams_.work), name_,
       "cudaMemcpy2DAsync");
}

void CudaDevice::put_zeros(void* to, std::size_t bytes) {
  if (bytes == 0) return;
  const GpuGuard here(number_, name_);
  must(cudaMemsetAsync(to, 0, bytes, streams_.work), name_, "cudaMemsetAsync");
}

void CudaDevice::put_value(const void* value, std::size_t bytes, void* to) {
  const GpuGuard here(number_, name_);
  launched(cuda::set({streams_.work}, value, bytes, to), name_, "set");
}

namespace {

/// A graph of what a stream was given, and the device that it is for.
class CudaGraph final : public RecordedWork {
 public:
  CudaGraph(std::shared_ptr<CudaDevice> device, cudaGraphExec_t graph)
      : device_(std::move(device)), graph_(graph) {}
  CudaGraph(const CudaGraph&) = delete;
  CudaGraph& operator=(const CudaGraph&) = delete;
  ~CudaGraph() override {
    static_cast<void>(cudaStreamSynchronize(stream()));
    static_cast<void>(cudaGraphExecDestroy(graph_));
  }

  void replay() override {
    const GpuGuard here(device_->number(), device_->name());
    must(cudaGraphLaunch(graph_, stream()), device_->name(), "cudaGraphLaunch");
  }

 private:
  cudaStream_t stream() const { return static_cast<cudaStream_t>(device_->stream()); }

  std::shared_ptr<CudaDevice> device_;
  cudaGraphExec_t graph_;
};

}  // namespace

// Relaxed: a kernel that runs for the first time is loaded while its launch is recorded; memory is taken by
// nobody here (take() checks it), and what other threads do is theirs.
std::unique_ptr<RecordedWork> CudaDevice::record(const std::function<void()>& work) {
  const GpuGuard here(number_, name_);
  const auto recording = [this](bool value) {
    const MutexLock lock(mutex_);
    MUSTER_CHECK(recording_ != value, "on", name_);
    recording_ = value;
  };
  must(cudaStreamBeginCapture(streams_.work, cudaStreamCaptureModeRelaxed), name_, "cudaStreamBeginCapture");
  recording(true);
  cudaGraph_t graph = nullptr;
  try {
    work();
  } catch (...) {
    recording(false);
    static_cast<void>(cudaStreamEndCapture(streams_.work, &graph));
    if (graph != nullptr) static_cast<void>(cudaGraphDestroy(graph));
    static_cast<void>(cudaGetLastError());
    throw;
  }
  recording(false);
  must(cudaStreamEndCapture(streams_.work, &graph), name_, "cudaStreamEndCapture");
  cudaGraphExec_t made = nullptr;
  const cudaError_t code = cudaGraphInstantiate(&made, graph, 0);
  static_cast<void>(cudaGraphDestroy(graph));
  must(code, name_, "cudaGraphInstantiate");
  return std::make_unique<CudaGraph>(std::static_pointer_cast<CudaDevice>(shared_from_this()), made);
}

}  // namespace muster::cuda

namespace muster {

std::shared_ptr<ComputeDevice> make_cuda_device(int number, const DeviceMemory& memory) {
  return std::make_shared<cuda::CudaDevice>(number, memory);
}

}  // namespace muster
