// Folders as Hugging Face keeps models: config.json, safetensors in one file or several.
//
// Keys and tensor names become those of GGUF by tables, so that the same builders serve both.
#pragma once

#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "lamella/frontends/checkpoint.h"

namespace lamella::hugging_face {

// Which layers see only a window of keys where the configuration does not list them.
enum class Windows {
  by_family,      // as the family's builder does it
  all,            // every layer, where sliding_window is set
  behind_a_layer  // layers from max_window_layers on, where use_sliding_window is set
};

struct Family {
  std::string_view model_type;    // of config.json
  std::string_view architecture;  // of the builders' table
  Windows windows = Windows::by_family;
  bool has_post_norms =
      false;  // post_attention_layernorm stands behind attention, not before the MLP
  bool norms_add_one = false;  // norms multiply by 1 + weight
};
std::span<const Family> families();

// What changes only its name: keys of config.json, stems of tensor names, and of those in a layer
// ("model.layers.<n>." before them; "" for what nobody needs).
struct Renaming {
  std::string_view from, to;
};
std::span<const Renaming> config_keys();
std::span<const Renaming> tensor_stems();
std::span<const Renaming> layer_tensor_stems();

// The name that builders know a tensor by; as it is where no row has it, "" where nobody needs it.
std::string tensor_name(const Family& family, std::string_view name);

// Fills `c` but for the weights from the text of config.json. UserError: no JSON, another
// model_type, values that are missing or of another kind.
const Family& read_config(std::string_view json, const std::string& path, Checkpoint& c);

}  // namespace lamella::hugging_face

namespace lamella {

// Reads config.json and the weights beside it. `problems` as for load_gguf.
Checkpoint load_hugging_face(const std::string& folder,
                             std::vector<std::string>* problems = nullptr);

}  // namespace lamella
