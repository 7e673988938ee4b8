#include "transport/shared_memory/seals.hpp"

#include <fcntl.h>
#include <sys/stat.h>

#include <string>

#ifndef F_SEAL_FUTURE_WRITE
#define F_SEAL_FUTURE_WRITE 0x0010
#endif

namespace muster::shm {

Descriptor new_shared_memory(const char* name, std::size_t bytes) {
  Descriptor memory(::memfd_create(name, MFD_CLOEXEC | MFD_ALLOW_SEALING));
  if (memory && ::ftruncate(memory.get(), static_cast<off_t>(bytes)) != 0) return Descriptor();
  return memory;
}

Descriptor seal_for_readers(const Descriptor& memory) {
  constexpr int kSeals = F_SEAL_SHRINK | F_SEAL_GROW | F_SEAL_FUTURE_WRITE | F_SEAL_SEAL;
  if (::fcntl(memory.get(), F_ADD_SEALS, kSeals) != 0 &&
      ::fcntl(memory.get(), F_ADD_SEALS, kSeals & ~F_SEAL_FUTURE_WRITE) != 0)
    return Descriptor();
  const std::string path = "/proc/self/fd/" + std::to_string(memory.get());
  return Descriptor(::open(path.c_str(), O_RDONLY | O_CLOEXEC));
}

bool stays_whole(const Descriptor& memory, std::size_t bytes) {
  struct stat status {};
  const int seals = ::fcntl(memory.get(), F_GET_SEALS);
  return ::fstat(memory.get(), &status) == 0 && status.st_size == static_cast<off_t>(bytes) && seals >= 0 &&
         (seals & F_SEAL_SHRINK) != 0;
}

}  // namespace muster::shm
