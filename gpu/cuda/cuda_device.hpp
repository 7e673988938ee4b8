// A GPU as a compute device: one stream for the work, one beside it for copies to the host, memory that is
// kept once it was taken. See compute_device.hpp for the contract.
#pragma once

#include <cuda_runtime_api.h>

#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/mutex.hpp"
#include "gpu/compute_device.hpp"

namespace muster::cuda {

class CudaDevice final : public ComputeDevice {
 public:
  CudaDevice(int number, const DeviceMemory& memory);
  CudaDevice(const CudaDevice&) = delete;
  CudaDevice& operator=(const CudaDevice&) = delete;
  /// Waits for all work.
  ~CudaDevice() override;

  const std::string& name() const override { return name_; }
  std::string hardware() const override;
  bool is_gpu() const override { return true; }
  void* stream() const override { return streams_.work; }

  void* take(std::size_t bytes) override;
  void give(void* memory) noexcept override;
  void* take_pinned(std::size_t bytes) override;
  void give_pinned(void* memory) noexcept override;
  std::string pin(void* host, std::size_t bytes) override;
  void unpin(void* host) noexcept override;
  MemoryUse memory() const override;
  MemoryUse pinned() const override;

  Mark mark() override;
  bool reached(const Mark& mark) override;
  void wait(const Mark& mark) override;
  void synchronize() override;

  VectorOperations& vectors() override { return *vectors_; }

  std::unique_ptr<RecordedWork> record(const std::function<void()>& work) override;

  int number() const { return number_; }

 private:
  struct Streams {
    cudaStream_t work = nullptr;
    cudaStream_t aside = nullptr;  // copies beside the work
  };
  /// The last copy on the stream beside the work.
  struct LastCopy {
    cudaEvent_t passed = nullptr;  // behind it
    bool pending = false;          // the work has not waited for it yet
  };

  void put_copy(const void* from, void* to, std::size_t bytes, Direction direction) override;
  Mark put_aside(const Mark& after, const void* from, void* host, std::size_t bytes) override;
  void put_rows(const void* from, std::size_t stride, void* host, std::size_t width,
                std::size_t rows) override;
  void put_zeros(void* to, std::size_t bytes) override;
  void put_value(const void* value, std::size_t bytes, void* to) override;
  void forget(void* event) noexcept override MUSTER_EXCLUDES(mutex_);

  void make_streams() MUSTER_EXCLUDES(mutex_);
  void wait_for_streams() const noexcept;
  void destroy_streams() noexcept MUSTER_EXCLUDES(mutex_);
  cudaEvent_t an_event() MUSTER_EXCLUDES(mutex_);
  Mark mark_of(cudaStream_t stream) MUSTER_EXCLUDES(mutex_);

  const int number_;
  const std::string name_;
  Streams streams_;
  std::unique_ptr<VectorOperations> vectors_;  // on the stream of the work

  mutable Mutex mutex_;  // for what arrays and marks reach from any thread
  LastCopy last_copy_ MUSTER_GUARDED_BY(mutex_);
  std::vector<cudaEvent_t> spare_events_ MUSTER_GUARDED_BY(mutex_);
  bool recording_ MUSTER_GUARDED_BY(mutex_) = false;
  MemoryPool memory_ MUSTER_GUARDED_BY(mutex_);
  MemoryPool pinned_ MUSTER_GUARDED_BY(mutex_);                    // and bounds what is in ranges_
  std::map<void*, std::size_t> ranges_ MUSTER_GUARDED_BY(mutex_);  // of the host, that pin() was given
};

}  // namespace muster::cuda
