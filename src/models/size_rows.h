// Hyper-parameters that are sizes, read by a table from a file's metadata.
#pragma once

#include <span>

#include "lamella/frontends/checkpoint.h"

namespace lamella {

inline constexpr int64_t kMaxSize = int64_t{1} << 31, kMaxLayers = 1 << 14;

// Which metadata key fills which member of P; without a default the key is required.
template <class P>
struct SizeRow {
  std::string_view key;
  int64_t P::*value;
  int64_t (*otherwise)(const P&) = nullptr;
  int64_t least = 1, most = kMaxSize;
};

// Row by row, so that a default may ask what rows before it have read.
template <class P>
void read_sizes(const Checkpoint& c, std::span<const SizeRow<P>> rows, P& p) {
  for (const SizeRow<P>& row : rows) {
    int64_t& value = p.*(row.value);
    value = c.has(row.key) || !row.otherwise ? c.integer(row.key) : row.otherwise(p);
    CHECK_USER(value >= row.least && value <= row.most, c.source, ": metadata '", c.architecture,
               ".", row.key, "' is out of range; got ", value, "; want ", row.least, " to ",
               row.most);
  }
}

// The vocabulary is what the embedding table holds: metadata may say less or nothing.
int64_t vocabulary_of(const Checkpoint& c);
// The number at `key`, which must be positive; `otherwise` where there is none.
double positive_number(const Checkpoint& c, std::string_view key, double otherwise);

// A key as docs/models.md lists it.
struct MetadataKey {
  std::string_view name;
  bool is_required;
};

}  // namespace lamella
