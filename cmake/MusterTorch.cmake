# libtorch: the one that Torch_DIR or CMAKE_PREFIX_PATH points to, else the system's; or the one of an installed PyTorch.
# Sets Torch_FOUND, Torch_VERSION, MUSTER_TORCH_CUDA (it computes on GPUs, too) and MUSTER_CUDA_RUNTIME (the one runtime that
# all of the program links).
set(MUSTER_TORCH "" CACHE STRING "empty (Torch_DIR, CMAKE_PREFIX_PATH, then the system's) or python (that of an installed PyTorch)")
set_property(CACHE MUSTER_TORCH PROPERTY STRINGS "" python)
set(MUSTER_PYTHON "" CACHE STRING "Python whose PyTorch brings libtorch; with MUSTER_TORCH=python by default python3")

if(MUSTER_PYTHON OR MUSTER_TORCH STREQUAL "python")
  set(python "${MUSTER_PYTHON}")
  if(NOT python)
    set(python python3)
  endif()
  execute_process(COMMAND "${python}" -c "import torch; print(torch.utils.cmake_prefix_path)" RESULT_VARIABLE code
    OUTPUT_VARIABLE prefix ERROR_VARIABLE said OUTPUT_STRIP_TRAILING_WHITESPACE)
  if(NOT code EQUAL 0 OR NOT EXISTS "${prefix}/Torch/TorchConfig.cmake")
    message(FATAL_ERROR "${python} has no PyTorch that could bring libtorch:\n${said}")
  endif()
  set(Torch_DIR "${prefix}/Torch" CACHE PATH "libtorch's package" FORCE)
elseif(MUSTER_TORCH)
  message(FATAL_ERROR "MUSTER_TORCH is '${MUSTER_TORCH}'; allowed: empty, python")
endif()

# libtorch's package looks for its other half in the system's folders first, where another version may be.
if(Torch_DIR AND EXISTS "${Torch_DIR}/../Caffe2/Caffe2Config.cmake")
  get_filename_component(Caffe2_DIR "${Torch_DIR}/../Caffe2" ABSOLUTE)
  set(Caffe2_DIR "${Caffe2_DIR}" CACHE PATH "libtorch's other half" FORCE)
endif()

# A libtorch with CUDA enables that language, and sets flags and architectures for PyTorch's own kernels, which ours must not
# be built for: they are put back. Its runtime is the shared one; two runtimes in a process would be one too many.
set(cuda_variables CMAKE_CUDA_FLAGS CMAKE_CUDA_ARCHITECTURES CMAKE_CUDA_STANDARD)
foreach(variable IN LISTS cuda_variables)
  if(DEFINED ${variable})
    set(before_${variable} "${${variable}}")
  endif()
  unset(${variable})
endforeach()
if(NOT DEFINED TORCH_CUDA_ARCH_LIST)
  set(TORCH_CUDA_ARCH_LIST 9.0)  # else it looks for a GPU at configure time
endif()
find_package(Torch QUIET)
foreach(variable IN LISTS cuda_variables)
  unset(${variable})
  if(DEFINED before_${variable})
    set(${variable} "${before_${variable}}")
  endif()
endforeach()

set(MUSTER_TORCH_CUDA OFF)
set(MUSTER_CUDA_RUNTIME CUDA::cudart_static)
if(Torch_FOUND AND TARGET torch_cuda)
  set(MUSTER_TORCH_CUDA ON)
  set(MUSTER_CUDA_RUNTIME CUDA::cudart)
  set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
endif()
