// Sums of squares of what products read, against a computation in f64 where it is short, and
// against one another.
#include "lamella/lm/imatrix.h"

#include <gtest/gtest.h>

#include <cmath>

#include "lamella/backends/cpu/cpu.h"
#include "lamella/frontends/checkpoint.h"
#include "tests/support/golden.h"

namespace lamella {
namespace {

std::vector<int32_t> some_tokens(int n, int vocabulary) {
  std::vector<int32_t> tokens;
  for (int i = 0; i < n; ++i) tokens.push_back((i * 67 + 11) % vocabulary);
  return tokens;
}

gguf::Importance importance_of_file(const std::string& name, int n_tokens,
                                    const ImatrixOptions& options) {
  const Checkpoint c = load_gguf((test::golden_dir() / "arch" / name).string());
  const Model model = build_model(c, {.kv_type = kF32, .context = 64});
  const auto backend = make_cpu_backend({.threads = 2});
  return importance_of(model, *backend, {},
                       some_tokens(n_tokens, static_cast<int>(model.info.vocabulary)), options);
}

// What the first layer's q, k and v read: normed rows of the embedding.
TEST(Imatrix, FirstLayerAgainstF64) {
  const Checkpoint c = load_gguf((test::golden_dir() / "arch/qwen3.gguf").string());
  const gguf::Importance im = importance_of_file("qwen3.gguf", 50, {.window = 32, .step = 16});
  EXPECT_EQ(im.n_windows, 2);
  const Tensor& table = *c.find_tensor("token_embd.weight");
  const std::vector<double> rows = table.to_doubles(),
                            norm = c.find_tensor("blk.0.attn_norm.weight")->to_doubles();
  const auto k = static_cast<size_t>(table.shape()[1]);
  const double eps = c.number("attention.layer_norm_rms_epsilon");
  std::vector<double> want(k);
  for (int32_t token : some_tokens(50, static_cast<int>(table.shape()[0]))) {
    const double* x = rows.data() + static_cast<size_t>(token) * k;
    double mean = 0;
    for (size_t i = 0; i < k; ++i) mean += x[i] * x[i] / static_cast<double>(k);
    for (size_t i = 0; i < k; ++i) want[i] += std::pow(x[i] / std::sqrt(mean + eps) * norm[i], 2);
  }
  for (const char* name : {"blk.0.attn_q.weight", "blk.0.attn_k.weight", "blk.0.attn_v.weight"}) {
    const gguf::ColumnSums& got = im.of_matrix.at(name);
    ASSERT_EQ(got.k, table.shape()[1]);
    EXPECT_EQ(got.counts, std::vector<float>{50});
    for (size_t i = 0; i < k; ++i) ASSERT_NEAR(got.sums[i], want[i], 1e-4 * (want[i] + 1)) << i;
  }
  EXPECT_TRUE(im.of_matrix.count("output.weight") || im.of_matrix.count("token_embd.weight"));
}

TEST(Imatrix, StepsDoNotMatter) {
  const auto a = importance_of_file("qwen3.gguf", 40, {.window = 40, .step = 64});
  const auto b = importance_of_file("qwen3.gguf", 40, {.window = 40, .step = 7});
  ASSERT_EQ(a.of_matrix.size(), b.of_matrix.size());
  for (const auto& [name, sums] : a.of_matrix) {
    const auto& other = b.of_matrix.at(name).sums;
    for (size_t i = 0; i < sums.sums.size(); ++i)
      ASSERT_NEAR(sums.sums[i], other[i], 0.02 * (sums.sums[i] + 1)) << name;
  }
}

// Each expert counts the tokens that chose it.
TEST(Imatrix, ExpertsApart) {
  const int n_tokens = 30;
  const auto im = importance_of_file("llama-moe.gguf", n_tokens, {.window = 64});
  int n_expert_matrices = 0;
  for (const auto& [name, sums] : im.of_matrix) {
    if (sums.experts == 1) {
      EXPECT_EQ(sums.counts, std::vector<float>{n_tokens}) << name;
      continue;
    }
    ++n_expert_matrices;
    float all = 0;
    for (int64_t e = 0; e < sums.experts; ++e) {
      all += sums.counts[static_cast<size_t>(e)];
      float squares = 0;
      for (int64_t i = 0; i < sums.k; ++i)
        squares += sums.sums[static_cast<size_t>(e * sums.k + i)];
      EXPECT_EQ(squares > 0, sums.counts[static_cast<size_t>(e)] > 0) << name;
    }
    EXPECT_GT(all, 0);
    EXPECT_EQ(std::fmod(all, static_cast<float>(n_tokens)), 0) << name;
  }
  EXPECT_GE(n_expert_matrices, 3);
}

}  // namespace
}  // namespace lamella
