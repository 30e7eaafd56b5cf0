// Attention for one instruction set. Included by attention_<isa>.cpp only.
#pragma once

#include "lamella/kernels/cpu/attention_bulk_impl.h"
#include "lamella/kernels/cpu/attention_decode_impl.h"

namespace lamella::cpu::LAMELLA_ISA {

const AttentionTable kAttentionTable = {
    {bulk::kPanel, bulk::kMostPanels, bulk::scratch_bytes, bulk::run},
    decode::scratch_bytes,
    decode::run,
    decode::merge};

}  // namespace lamella::cpu::LAMELLA_ISA
