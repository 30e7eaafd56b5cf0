#include "lamella/ops/attention/attention.h"
#include "lamella/ops/attention/alibi.h"
#include "lamella/ops/attention/attention_mask.h"
#include "lamella/ops/attention/kv_append.h"
#include "lamella/ops/attention/paged_attention.h"
#include "lamella/ops/families.h"

namespace lamella {

std::span<const Op* const> attention_ops() {
  static constexpr const Op* kOps[] = {
      // sorted:begin
      &op<Alibi>, &op<Attention>, &op<AttentionMask>, &op<KvAppend>, &op<PagedAttention>,
      // sorted:end
  };
  return kOps;
}

}  // namespace lamella
