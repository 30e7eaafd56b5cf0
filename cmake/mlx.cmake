# MLX, for the back end of that name: from the wheel that ./x setup puts into .venv, or MLX_ROOT, or Homebrew's. A build
# without it works; only src/backends/mlx sees its headers.
option(LAMELLA_MLX "build the MLX back end where MLX is found" ON)
set(MLX_ROOT "" CACHE PATH "a folder that holds share/cmake/MLX; empty: .venv, then where CMake looks")
set(MLX_WANTED 0.32.4)

set(MLX_FOUND FALSE)
if(LAMELLA_MLX)
  file(GLOB MLX_IN_VENV ${CMAKE_SOURCE_DIR}/.venv/lib/python*/site-packages/mlx)
  list(APPEND CMAKE_PREFIX_PATH ${MLX_ROOT} ${MLX_IN_VENV})
  if(NOT APPLE)
    set(MLX_EXACT EXACT)
  endif()
  find_package(MLX ${MLX_WANTED} ${MLX_EXACT} CONFIG QUIET)
endif()

file(GLOB MLX_SOURCES CONFIGURE_DEPENDS src/backends/mlx/*.cpp)
if(MLX_FOUND)
  message(STATUS "MLX ${MLX_VERSION}: ${MLX_INCLUDE_DIRS}")
  list(FILTER LAMELLA_SOURCES EXCLUDE REGEX "src/backends/mlx/absent.cpp$")
  # MLX's headers warn; its own flags and folders reach no other file.
  set_source_files_properties(${MLX_SOURCES} PROPERTIES COMPILE_OPTIONS "-isystem;${MLX_INCLUDE_DIRS}")
else()
  message(STATUS "MLX ${MLX_WANTED} not found: no back end `mlx`")
  list(FILTER LAMELLA_SOURCES EXCLUDE REGEX "src/backends/mlx/")
  list(APPEND LAMELLA_SOURCES src/backends/mlx/absent.cpp src/backends/mlx/gpu_format.cpp src/backends/mlx/gpu_source.cpp
       src/backends/mlx/gpu_layer_source.cpp src/backends/mlx/gpu_wide.cpp)
endif()
