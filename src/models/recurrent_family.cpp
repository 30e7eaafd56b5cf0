#include "lamella/models/recurrent_family.h"

#include "lamella/base/error.h"

namespace lamella {
namespace {

constexpr HybridFamily kHybrids[] = {
    // sorted:begin
    {.decoder = {.name = "qwen35", .doc = "Qwen 3.5", .has_qk_norm = true},
     .head_map = HeadMap::modulo},
    {.decoder = {.name = "qwen35moe", .doc = "Qwen 3.5 with experts", .has_qk_norm = true},
     .head_map = HeadMap::modulo},
    {.decoder = {.name = "qwen3next", .doc = "Qwen 3 Next", .has_qk_norm = true},
     .has_joint_gates = true},
    // sorted:end
};

constexpr StateSpaceFamily kStateSpaces[] = {
    // sorted:begin
    {.name = "mamba", .doc = "Mamba, Falcon Mamba"},
    {.name = "mamba2", .doc = "Mamba 2, Codestral Mamba", .has_heads = true},
    // sorted:end
};

// Products of three of them fit in 64 bits.
constexpr int64_t kMaxPart = int64_t{1} << 20;

constexpr SizeRow<RecurrentParams> kSizes[] = {
    {"ssm.conv_kernel", &RecurrentParams::taps, nullptr, 2, 256},
    {"ssm.inner_size", &RecurrentParams::inner, nullptr, 1, kMaxPart},
    {"ssm.state_size", &RecurrentParams::state, nullptr, 1, kMaxPart},
    {"ssm.time_step_rank", &RecurrentParams::rank, nullptr, 1, kMaxPart},
    {"ssm.group_count", &RecurrentParams::groups, [](const RecurrentParams&) { return int64_t{1}; },
     1, kMaxPart},
    {"full_attention_interval", &RecurrentParams::interval,
     [](const RecurrentParams&) { return int64_t{4}; }, 1, kMaxLayers},
    {"expert_shared_feed_forward_length", &RecurrentParams::shared_hidden,
     [](const RecurrentParams&) { return int64_t{0}; }, 0},
};

constexpr std::string_view kNormed = "ssm.dt_b_c_rms", kSections = "rope.dimension_sections";

}  // namespace

std::span<const HybridFamily> hybrid_families() { return kHybrids; }
std::span<const StateSpaceFamily> state_space_families() { return kStateSpaces; }

RecurrentParams read_recurrent_params(const Checkpoint& c) {
  RecurrentParams p;
  read_sizes<RecurrentParams>(c, kSizes, p);
  return p;
}

std::vector<MetadataKey> recurrent_keys() {
  std::vector<MetadataKey> keys;
  for (const auto& row : kSizes) keys.push_back({row.key, row.otherwise == nullptr});
  for (std::string_view key : {kNormed, kSections}) keys.push_back({key, false});
  return keys;
}

bool norms_time_step(const Checkpoint& c) { return c.flag_or(kNormed, false); }

std::vector<int64_t> rope_sections_of(const Checkpoint& c) {
  constexpr int64_t kSectionsWanted = 4;
  if (!c.has(kSections)) return {};
  const std::vector<int64_t> sections = c.integers(kSections, kSectionsWanted);
  for (int64_t n : sections)
    CHECK_USER(n >= 0 && n <= kMaxSize, c.source, ": metadata '", kSections,
               "' is out of range; got ", n, "; want 0 to ", kMaxSize);
  return sections;
}

}  // namespace lamella
