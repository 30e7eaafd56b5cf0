// Gradients of control ops: the gradient of the body in a control op of its own.
#pragma once

#include "lamella/ops/control/body.h"

namespace lamella {

// What an input of a body is at each step.
enum class Role { carried, entry, capture };

// A run of steps to go back through. All lists but the last are by input of the body.
struct Steps {
  const Graph& body;
  std::vector<Role> roles;
  std::vector<size_t>
      node_inputs;  // the input of the control node it comes from (carried ones and captures)
  Values values;    // what the steps saw: carried ones and entries stacked over the steps, captures
                    // as they are
  Values output_grads;       // by output of the body: of its last or stacked value, or absent
  size_t first_carried = 0;  // the output that is the first carried input's next value
  bool reverse = false;      // the forward order
};

// The gradient of each input of the body: of a carried one its first value's, of an entry stacked,
// of a capture summed over the steps; absent where the input has no floating-point type.
Values steps_gradient(VjpCx& cx, const Steps& steps);

}  // namespace lamella
