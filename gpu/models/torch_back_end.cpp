#include "gpu/models/torch_back_end.hpp"

#include <dlfcn.h>

#include <filesystem>

#include "muster/error.hpp"

namespace muster {
namespace {

constexpr const char* kLibrary = "libmuster_torch.so.0";

// By its whole path: where the run path of libmuster leads is not what counts under a sanitizer, which calls
// dlopen in libmuster's stead.
std::string beside_this_library() {
  Dl_info self{};
  if (::dladdr(reinterpret_cast<const void*>(&torch_back_end), &self) == 0) return kLibrary;
  return (std::filesystem::path(self.dli_fname).parent_path() / kLibrary).string();
}

const TorchBackEnd& load() {
  void* const library = ::dlopen(beside_this_library().c_str(), RTLD_LAZY | RTLD_GLOBAL);
  void* const found = library == nullptr ? nullptr : ::dlsym(library, "muster_torch_back_end");
  if (found == nullptr)
    throw Error(std::string("libtorch and the models on it cannot be loaded: ") + ::dlerror() +
                "; install libtorch, or Muster anew");
  return *reinterpret_cast<const TorchBackEnd* (*)()>(found)();
}

}  // namespace

const TorchBackEnd& torch_back_end() {
  static const TorchBackEnd& loaded = load();
  return loaded;
}

}  // namespace muster
