// Reads the text form that print.h shows. Types after ':' may be left out; where they stand they
// must be what the shape rules give. Labels need not be numbers. Comments run from '#' to the end
// of the line.
#pragma once

#include <string_view>

#include "lamella/ir/graph.h"

namespace lamella {

// UserError "ir text line 3: what; got ...; want ...". Work and memory are bounded by the length of
// the text.
Graph parse_graph(std::string_view text, const OpSet& ops);

}  // namespace lamella
