// Implements quant/check_quant.h.
#include "lamella/quant/check_quant.h"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstring>
#include <nlohmann/json.hpp>

#include "lamella/base/error.h"
#include "lamella/base/mapped_file.h"
#include "lamella/base/text.h"
#include "lamella/quant/format.h"

namespace lamella::quant {
namespace {

using nlohmann::json;
using Outcome = QuantReport::Outcome;

// One format's entry in the manifest.
struct Reference {
  std::string prefix;  // folder/NAME.
  int64_t cols = 0;
  bool enc = false, enc_im = false;

  MappedFile open(const std::string& ending) const { return MappedFile::open(prefix + ending); }
};

// Equal bits. Two NaNs count as equal: which operand's sign a NaN keeps is the compiler's choice.
bool same(uint8_t a, uint8_t b) { return a == b; }
bool same(float a, float b) {
  return std::bit_cast<uint32_t>(a) == std::bit_cast<uint32_t>(b) ||
         (std::isnan(a) && std::isnan(b));
}

// The first disagreement of two byte arrays as "element I: got X, want Y", or nothing.
template <class T>
std::string difference(std::span<const T> got, std::span<const uint8_t> want_bytes) {
  if (got.size_bytes() != want_bytes.size()) {
    return str("got ", got.size_bytes(), " bytes, want ", want_bytes.size());
  }
  for (size_t i = 0; i < got.size(); ++i) {
    T want;
    std::memcpy(&want, want_bytes.data() + i * sizeof(T), sizeof(T));
    if (!same(got[i], want)) return str("element ", i, ": got ", +got[i], ", want ", +want);
  }
  return {};
}

std::string check_decode(const Format& format, const Reference& reference,
                         const std::string& kind) {
  const MappedFile encoded = reference.open(kind), values = reference.open(kind + ".f32");
  const size_t row_bytes =
      static_cast<size_t>(format.blocks(reference.cols) * format.block_bytes());
  if (encoded.bytes().size() % row_bytes != 0) return str(kind, ": not whole rows");
  const size_t n_rows = encoded.bytes().size() / row_bytes;
  const size_t cols = static_cast<size_t>(reference.cols);
  std::vector<float> got(n_rows * cols);
  for (size_t row = 0; row < n_rows; ++row) {
    decode_row(format, {encoded.bytes().data() + row * row_bytes}, reference.cols,
               got.data() + row * cols);
  }
  const std::string wrong = difference<float>(got, values.bytes());
  return wrong.empty() ? wrong : str("decode of ", kind, ", ", wrong);
}

std::string check_encode(const Format& format, const Reference& reference) {
  const MappedFile values = reference.open("src.f32"), encoded = reference.open("enc");
  std::vector<float> source(values.bytes().size() / sizeof(float));
  std::memcpy(source.data(), values.bytes().data(), source.size() * sizeof(float));
  const size_t row_bytes =
      static_cast<size_t>(format.blocks(reference.cols) * format.block_bytes());
  const size_t cols = static_cast<size_t>(reference.cols), n_rows = source.size() / cols;
  std::vector<uint8_t> got(n_rows * row_bytes);
  for (size_t row = 0; row < n_rows; ++row) {
    encode_row(format, source.data() + row * cols, reference.cols, {got.data() + row * row_bytes});
  }
  const std::string wrong = difference<uint8_t>(got, encoded.bytes());
  return wrong.empty() ? wrong : str("encode, ", wrong);
}

QuantReport::Entry check_format(const std::string& name, const json& facts,
                                const std::string& folder) {
  const Format* format = find_format(name);
  if (format == nullptr) return {name, Outcome::skipped, "not in the table of formats"};
  const Reference reference{.prefix = folder + "/" + name + ".",
                            .cols = facts.at("cols").get<int64_t>(),
                            .enc = facts.value("enc", false),
                            .enc_im = facts.value("enc_im", false)};
  if (facts.at("type_id") != format->gguf_type || facts.at("block") != format->block ||
      facts.at("bytes") != format->block_bytes() || reference.cols <= 0) {
    return {name, Outcome::failed, "the manifest has another type id, block size or row size"};
  }
  std::vector<std::string> done{"decode raw"};
  std::string wrong = check_decode(*format, reference, "raw");
  if (wrong.empty() && reference.enc) {
    done.push_back("enc");
    wrong = check_decode(*format, reference, "enc");
  }
  if (wrong.empty() && reference.enc_im) {
    done.push_back("enc_im");
    wrong = check_decode(*format, reference, "enc_im");
  }
  if (wrong.empty() && reference.enc && format->encode != nullptr) {
    done.push_back("encode src");
    wrong = check_encode(*format, reference);
  }
  if (!wrong.empty()) return {name, Outcome::failed, wrong};
  return {name, Outcome::passed, join(done, ", ")};
}

const char* outcome_text(Outcome outcome) {
  return outcome == Outcome::passed ? "passed" : outcome == Outcome::failed ? "FAILED" : "skipped";
}

}  // namespace

int QuantReport::count(Outcome outcome) const {
  return static_cast<int>(std::count_if(entries.begin(), entries.end(), [&](const Entry& entry) {
    return entry.outcome == outcome;
  }));
}

std::string QuantReport::text() const {
  std::string out;
  for (const Entry& entry : entries) {
    out +=
        str(entry.format, std::string(entry.format.size() < 10 ? 10 - entry.format.size() : 1, ' '),
            outcome_text(entry.outcome), "  ", entry.detail, "\n");
  }
  return out + str(count(Outcome::passed), " passed, ", count(Outcome::failed), " failed, ",
                   count(Outcome::skipped), " skipped\n");
}

QuantReport check_quant(const std::string& folder) {
  const MappedFile file = MappedFile::open(folder + "/manifest.json");
  QuantReport report;
  try {
    const json manifest = json::parse(file.bytes().begin(), file.bytes().end());
    for (const auto& [name, facts] : manifest.at("formats").items()) {
      report.entries.push_back(check_format(name, facts, folder));
    }
  } catch (const json::exception& error) {
    throw UserError(str(file.path(), ": not a manifest of formats; ", error.what()));
  }
  return report;
}

}  // namespace lamella::quant
