// The example graphs. Each has symbolic sizes, so that one compiled program serves every batch and
// length; the numbers in the structs are small enough to be read and tested, the constants beside
// them are those of published models.
#pragma once

#include <string>
#include <vector>

#include "lamella/ir/graph.h"

namespace lamella::examples {

// mel f32[batch, mels, frames] -> audio f32[batch, frames * hop], after Vocos (Siuzdak 2023).
struct VocoderSizes {
  int64_t mels = 12, channels = 16, hidden = 48, blocks = 2, n_fft = 64, hop = 16;
};
inline constexpr VocoderSizes kVocos24Khz{100, 512, 1536, 8, 1024, 256};
Graph vocoder(const VocoderSizes& sizes = {});

// text f32[batch, channels, steps], style f32[batch, style] -> audio f32[batch, steps * 2 * rate]:
// a decoder block as in StyleTTS2 (Li et al. 2023) and the models made from it.
struct SpeechDecoderSizes {
  int64_t channels = 12, style = 8, lstm = 10, rate = 4;
  std::vector<int64_t> dilations = {1, 3};
};
SpeechDecoderSizes style_tts2();
Graph speech_decoder(const SpeechDecoderSizes& sizes = {});

// latent f32[batch, rows, columns, channels], time f32[batch], step f32[batch] -> the next latent:
// one Euler step along the velocity that a diffusion transformer (Peebles and Xie 2023) predicts.
struct DiffusionSizes {
  int64_t channels = 8, width = 32, heads = 2, hidden = 64, blocks = 2, time_size = 16;
  double time_scale = 16;  // of the greatest angle of a time's embedding
};
inline constexpr DiffusionSizes kDitB2{16, 768, 12, 2048, 12, 256, 1000};
Graph diffusion_step(const DiffusionSizes& sizes = {});

// image f32[batch, 1, 32, width] -> log_probs f32[width / 4, batch, classes], class 0 the blank:
// convolutions, then recurrence along the line of text (Shi et al. 2015).
struct RecogniserSizes {
  int64_t channels = 8, lstm = 16, classes = 11;
};
inline constexpr RecogniserSizes kCrnn{64, 256, 37};
Graph text_recogniser(const RecogniserSizes& sizes = {});
// The greedy reading of log_probs: the best class of each step, repeats merged, blanks left out.
std::vector<std::vector<int64_t>> collapse_ctc(const Tensor& log_probs);

// chunk f32[batch, hops, hop] of audio -> speech f32[batch, hops], a probability for each hop. Four
// states carry what a later chunk needs of this one, so that audio may come in chunks of any
// number of hops.
struct DetectorSizes {
  int64_t n_fft = 32, hop = 16, channels = 16, lstm = 12;
};
inline constexpr DetectorSizes kDetector16Khz{256, 128, 128, 128};
Graph voice_detector(const DetectorSizes& sizes = {});

}  // namespace lamella::examples
