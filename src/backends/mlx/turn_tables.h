// Cosines and sines of rotary embeddings, kept over runs: a table for all positions up to the
// largest met, made and given to the device once, and anew where a larger position comes.
#pragma once

#include <list>

#include "lamella/backends/mlx/core_row.h"
#include "lamella/ops/nn/rope.h"

namespace lamella::on_mlx {

class TurnTables {
 public:
  struct Turns {
    mx::array table;  // f32[rows, pairs, 2]
    mx::array at;     // i32[tokens]: the tokens' rows
  };
  // For a rope whose positions, and divisors where it has them, are inputs 1 and 2 of the node.
  Turns of(LowerCx& cx, const Rope::Attrs& attrs, int64_t n_rot);
  // A new run, with positions of its own.
  void start();

 private:
  struct Table {
    Rope::Attrs attrs;
    int64_t n_rot = 0;
    std::weak_ptr<Storage> divisors;
    const std::byte* divisors_at = nullptr;
    int64_t n_positions = 0;
    std::optional<mx::array> turns;
    // Of this run.
    const Tensor* positions = nullptr;
    std::optional<mx::array> own, own_at;  // where positions lie outside every table
  };
  Table& table_for(LowerCx& cx, const Rope::Attrs& attrs, int64_t n_rot);
  void cover(LowerCx& cx, Table& table);

  std::list<Table> tables_;
};

}  // namespace lamella::on_mlx
