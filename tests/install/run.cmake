# Installs BUILD_DIR to a prefix of its own, then configures, builds and runs PROJECT_DIR against that prefix alone.
function(run)
  execute_process(COMMAND ${ARGV} RESULT_VARIABLE code OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT code EQUAL 0)
    message(FATAL_ERROR "${ARGV}\n${text}")
  endif()
endfunction()

set(WORK ${BUILD_DIR}/install_test)
file(REMOVE_RECURSE ${WORK})
run(${CMAKE_COMMAND} --install ${BUILD_DIR} --prefix ${WORK}/prefix)
# A copy elsewhere, so that no relative path into the source tree can help.
file(COPY ${PROJECT_DIR}/CMakeLists.txt ${PROJECT_DIR}/main.cpp DESTINATION ${WORK}/project)
run(${CMAKE_COMMAND} -G Ninja -S ${WORK}/project -B ${WORK}/build -D CMAKE_PREFIX_PATH=${WORK}/prefix
    -D CMAKE_BUILD_TYPE=Release -D CMAKE_CXX_COMPILER=${COMPILER}
    -D CMAKE_CXX_FLAGS=-Wall\ -Wextra\ -Werror)
run(${CMAKE_COMMAND} --build ${WORK}/build)
run(${WORK}/build/user)
