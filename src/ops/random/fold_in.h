#pragma once

#include "lamella/ops/random/key.h"

namespace lamella {

struct FoldIn {
  static constexpr Info info{.name = "fold_in",
                             .inputs = "key, data",
                             .outputs = "y",
                             .doc =
                                 "A new key from a key and a number (i32 or i64, rank 0), such as "
                                 "a sequence or a position: the Philox4x32-10 "
                                 "block of that number, on a stream of its own.",
                             .traits = kNoGrad | kRandom};
  static constexpr uint32_t kTweak = 0x666f6c64;
  static void type(TypeCx& cx, const NoAttrs&) {
    require_key(cx, 0);
    cx.require_int(1);
    cx.require_rank(1, 0);
    cx.out(cx.in(0).dtype, Shape{2});
  }
  static void eval(EvalCx& cx, const NoAttrs&) {
    const auto words = random_block(cx.in(0), static_cast<uint64_t>(cx.in(1).i[0]), kTweak);
    RefTensor& y = cx.out(0);
    for (size_t i = 0; i < 2; ++i)
      y.i[i] = static_cast<int64_t>(words[2 * i] | uint64_t{words[2 * i + 1]} << 32);
  }
  static void samples(Samples& s) {
    const auto key = [](double a, double b) {
      return In{.shape = {2}, .dtype = kI64, .values = {a, b}};
    };
    for (DType t : {kI32, kI64})
      for (double data : {0.0, 1.0, -5.0})
        s.add({key(3, 4), In{.shape = {}, .dtype = t, .values = {data}}});
    s.bad({key(0, 0), In{.shape = {2}, .dtype = kI64}}, NoAttrs{}, "wrong rank");
    s.bad({key(0, 0), In{.shape = {}, .dtype = kF32}}, NoAttrs{}, "does not hold indices");
    s.bad({In{.shape = {4}, .dtype = kI64}, In{.shape = {}, .dtype = kI64}}, NoAttrs{},
          "length of the key");
  }
};
inline constexpr Call<FoldIn> fold_in;

}  // namespace lamella
