#include "lamella/base/version.h"

namespace lamella {

std::string_view version() { return LAMELLA_VERSION; }

}  // namespace lamella
