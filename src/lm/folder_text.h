// The tokenizer and the chat template of a Hugging Face folder.
#pragma once

#include <filesystem>
#include <memory>
#include <string>

#include "lamella/text/tokenizer.h"

namespace lamella {

// UserError where the folder has no tokenizer.json, or one that is not understood.
std::unique_ptr<Tokenizer> read_folder_tokenizer(const std::filesystem::path& folder);

// The template's source; empty when the folder has none.
std::string read_folder_chat_template(const std::filesystem::path& folder);

}  // namespace lamella
