#include "lamella/backends/planned/row.h"

#include "lamella/base/text.h"

namespace lamella::planned {

std::string message_of(const Status& status) {
  switch (status.code) {
    case Status::not_positive_definite:
      return str("matrix ", status.index, " of the batch is not positive definite");
    case Status::singular:
      return str("matrix ", status.index, " of the batch is singular");
    case Status::index_out_of_range:
      return str("index out of range; got ", status.value, " at position ", status.index);
    case Status::no_memory:
      return "out of memory";
    default:
      return str("bad value; got ", status.value, " at position ", status.index);
  }
}

}  // namespace lamella::planned
