// The CPU's device object and its Target, for the back ends that run its rows.
#pragma once

#include <memory>
#include <string>

#include "lamella/backends/cpu/cpu.h"
#include "lamella/backends/cpu/device.h"
#include "lamella/passes/target.h"

namespace lamella::cpu {

// UserError for a negative thread count or an instruction set that this machine lacks.
Device make_device(const CpuOptions& options);

// What kernel_rows() run of a graph, how they want it.
Target make_target(std::shared_ptr<const Device> device, const std::string& force_row);

}  // namespace lamella::cpu
