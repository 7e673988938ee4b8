#include "actors/registry/model_libraries.hpp"

#include <dlfcn.h>

#include <filesystem>

#include "muster/error.hpp"
#include "muster/model_library.hpp"

namespace muster {
namespace {

[[noreturn]] void fail(const std::string& what) {
  throw Error(what);
}

void* load(const std::string& path) {
  // With a slash in it, so that no other folder is searched. Never unloaded: its models may be in use.
  const std::string absolute = std::filesystem::absolute(path).string();
  void* library = ::dlopen(absolute.c_str(), RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
  if (library == nullptr) {
    const char* why = ::dlerror();
    fail(std::string("cannot be loaded: ") + (why != nullptr ? why : "unknown reason"));
  }
  return library;
}

std::unique_ptr<const Registry> models_of(void* library) {
  const auto* interface = static_cast<const int*>(::dlsym(library, "muster_model_library_interface"));
  const auto fill =
      reinterpret_cast<void (*)(Registry&)>(::dlsym(library, "muster_register_models"));  // NOLINT
  if (interface == nullptr || fill == nullptr)
    fail("is no library of models: it lacks MUSTER_MODEL_LIBRARY of muster/model_library.hpp");
  if (*interface != kModelLibraryInterface)
    fail("is built for interface " + std::to_string(*interface) + " of libraries, this program has " +
         std::to_string(kModelLibraryInterface) + ": build it again, against this Muster");
  auto registry = std::make_unique<Registry>();
  try {
    fill(*registry);
  } catch (const std::exception& error) {
    fail(std::string("did not register its models: ") + error.what());
  }
  if (registry->declarations().models.empty()) fail("registers no model");
  return registry;
}

}  // namespace

ModelLibraries::ModelLibraries() = default;
ModelLibraries::~ModelLibraries() = default;

const Registry& ModelLibraries::open(const std::string& path) {
  const MutexLock lock(mutex_);
  auto& registry = loaded_[path];
  if (!registry) registry = models_of(load(path));
  return *registry;
}

}  // namespace muster
