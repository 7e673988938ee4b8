#include "actors/processes/memory_file.hpp"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include <cerrno>
#include <cstring>
#include <string>

#include "muster/error.hpp"

namespace muster {

int make_memory_file(const char* name) {
  const int low = ::memfd_create(name, MFD_CLOEXEC);
  const int descriptor = low < 0 ? -1 : ::fcntl(low, F_DUPFD_CLOEXEC, kHandedLowest);
  const int error = errno;
  if (low >= 0) ::close(low);
  if (descriptor < 0) throw Error(std::string("no memory for ") + name + ": " + std::strerror(error));
  return descriptor;
}

}  // namespace muster
