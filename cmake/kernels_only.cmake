# The CPU kernels, what lies below them and their tests in one program that needs no other package: a small stand-in takes
# the place of GoogleTest.
list(FILTER LAMELLA_SOURCES INCLUDE REGEX "src/(base|quant|kernels)/")
list(FILTER LAMELLA_SOURCES EXCLUDE REGEX "src/quant/check_quant.cpp$")  # reads JSON
file(GLOB KERNEL_TESTS CONFIGURE_DEPENDS tests/kernels/*.cpp)
set_source_files_properties(${KERNEL_TESTS} PROPERTIES COMPILE_OPTIONS $<$<CONFIG:Release>:-O1>)
add_executable(kernels_tests ${LAMELLA_SOURCES} ${KERNEL_TESTS} tests/support/plain_gtest/main.cpp)
target_include_directories(kernels_tests PRIVATE include)
target_include_directories(kernels_tests SYSTEM PRIVATE tests/support/plain_gtest)
target_link_libraries(kernels_tests PRIVATE Threads::Threads)
