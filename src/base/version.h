// The version of the library; the number itself stands in CMakeLists.txt.
#pragma once

#include <string_view>

namespace lamella {

// "major.minor.patch"
std::string_view version();

}  // namespace lamella
