// The table of pre-tokenizers, sorted by name. To add one: a row, and its patterns if no row has
// them yet.
#include <algorithm>
#include <array>
#include <vector>

#include "lamella/base/error.h"
#include "lamella/base/text.h"
#include "lamella/text/pretokenize.h"

namespace lamella {
namespace {

using Pattern = std::string_view;

constexpr Pattern kGpt2Words =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";

// "'s" and its like in any case (of ASCII letters only, as llama.cpp has it).
#define LAMELLA_CONTRACTIONS "(?:'[sS]|'[tT]|'[rR][eE]|'[vV][eE]|'[mM]|'[lL][lL]|'[dD])"
// Punctuation with the line ends after it, line ends, white space.
#define LAMELLA_MARKS_AND_SPACE R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"
#define LAMELLA_UPPER R"([\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}])"
#define LAMELLA_LOWER R"([\p{Ll}\p{Lm}\p{Lo}\p{M}])"

constexpr Pattern kGpt2[] = {kGpt2Words};

// Digits by threes from the right, whatever lies between.
constexpr Pattern kSuperBpe[] = {R"(\p{N}+)", kThreesOfNumber};

// GPT-2's words after each digit has been set apart.
constexpr Pattern kSingleDigits[] = {R"(\p{N})", kGpt2Words};

constexpr Pattern kLlama3[] = {LAMELLA_CONTRACTIONS
                               R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3})" LAMELLA_MARKS_AND_SPACE};

constexpr Pattern kQwen2[] = {LAMELLA_CONTRACTIONS
                              R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})" LAMELLA_MARKS_AND_SPACE};

// Qwen 2's with marks as parts of words.
constexpr Pattern kQwen35[] = {LAMELLA_CONTRACTIONS
                               R"(|[^\r\n\p{L}\p{N}]?[\p{L}\p{M}]+|\p{N})"
                               R"(| ?[^\s\p{L}\p{M}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};

// Without contractions.
constexpr Pattern kUfakzeka[] = {R"([^\r\n\p{L}\p{N}]?\p{L}+|\p{N})" LAMELLA_MARKS_AND_SPACE};

// Line ends apart.
constexpr Pattern kLaguna[] = {R"([^\n]+|[\n]+)", kQwen2[0]};

// Digits by threes from the left first.
constexpr Pattern kMiniCpm5[] = {R"(\p{N}{1,3})", LAMELLA_CONTRACTIONS
                                 R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}+)" LAMELLA_MARKS_AND_SPACE};

// White space in runs of powers of two.
constexpr Pattern kJais2[] = {
    LAMELLA_CONTRACTIONS
    R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+)"
    R"(|\s{512}(?!\S)|\s{256}(?!\S)|\s{128}(?!\S)|\s{64}(?!\S)|\s{32}(?!\S)|\s{16}(?!\S))"
    R"(|\s{8}(?!\S)|\s{4}(?!\S)|\s{1,2}(?!\S)|\s{1})"};

// Words may go on over single spaces.
constexpr Pattern kExaoneMoe[] = {
    LAMELLA_CONTRACTIONS R"(|[^\r\n\p{L}\p{N}]?\p{L}[\p{L}\p{M}]*+(?: \p{L}[\p{L}\p{M}]*+)*+|\p{N})"
                         R"(| ?[^\s\p{L}\p{N}]+[\r\n/]?|\s*[\r\n]|\s+(?!\S)|\s+)"};

// Words break where a lower-case letter meets an upper-case one.
constexpr Pattern kGpt4o[] = {
    R"([^\r\n\p{L}\p{N}]?)" LAMELLA_UPPER "*" LAMELLA_LOWER "+" LAMELLA_CONTRACTIONS
    R"(?|[^\r\n\p{L}\p{N}]?)" LAMELLA_UPPER "+" LAMELLA_LOWER "*" LAMELLA_CONTRACTIONS
    R"(?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};

// The same over single digits, behind runs of the East Asian scripts and of their punctuation.
constexpr Pattern kYoutu[] = {
    R"([가-힣ㄱ-ㆎ]+|[！…“”‘’—：；，、-〿︰-﹏]+|[ㄅ-ㄯ]+|[一-龥぀-ゟ゠-ヿ]+)",
    R"([^\r\n\p{L}\p{N}]?)" LAMELLA_UPPER "*" LAMELLA_LOWER "+" LAMELLA_CONTRACTIONS
    R"(?|[^\r\n\p{L}\p{N}]?)" LAMELLA_UPPER "+" LAMELLA_LOWER "*" LAMELLA_CONTRACTIONS
    R"(?|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};

// Numbers that end at a word's end by threes from the right, then as GPT-4o.
constexpr Pattern kTinyAya[] = {R"(\d++\b)", kThreesOfWord, kGpt4o[0]};

constexpr Pattern kTekken[] = {R"([^\r\n\p{L}\p{N}]?)" LAMELLA_UPPER "*" LAMELLA_LOWER
                               R"(+|[^\r\n\p{L}\p{N}]?)" LAMELLA_UPPER "+" LAMELLA_LOWER
                               R"(*|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};

constexpr Pattern kSeedCoder[] = {LAMELLA_CONTRACTIONS
                                  R"(|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}\r\n]+)"
                                  R"(|\s*[\r\n]+|\s+(?!\S)|\s+)"};

constexpr Pattern kBailing[] = {
    R"('(?:[sSdDmMtT]|[lL][lL]|[vV][eE]|[rR][eE])|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N})"
    R"(| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+)"};

constexpr Pattern kFalcon[] = {R"([\p{P}$+<=>^~|`]+)", kGpt2Words, "[0-9][0-9][0-9]"};

constexpr Pattern kBloom[] = {R"( ?[^(\s|.,!?…。，、।۔،)]+)"};
constexpr Pattern kViking[] = {R"( ?[^(\s|.,!?…。，、।۔،)]+)", R"(\p{N})"};

// Runs of Han characters are words; other letters as in GPT-4o.
#define LAMELLA_NOT_HAN(set) "(?:(?!\\p{Han})" set ")"
constexpr Pattern kKimi[] = {
    R"([\p{Han}]+|[^\r\n\p{L}\p{N}]?)" LAMELLA_NOT_HAN(LAMELLA_UPPER) "*" LAMELLA_NOT_HAN(
        LAMELLA_LOWER) "+" LAMELLA_CONTRACTIONS
                       R"(?|[^\r\n\p{L}\p{N}]?)" LAMELLA_NOT_HAN(LAMELLA_UPPER) "+" LAMELLA_NOT_HAN(
                           LAMELLA_LOWER) "*" LAMELLA_CONTRACTIONS
                                          R"(?|\p{N}{1,3})" LAMELLA_MARKS_AND_SPACE};
#undef LAMELLA_NOT_HAN

// Image tokens and single digits, spaces and marks, then GPT-2's words.
constexpr Pattern kChameleon[] = {"<sentinel:[0-9]+>",       "(IMGIMG)((A|B|C|D|E|F|G|H|I){1,4})Z",
                                  R"([\t\n]|    |  )",       R"(\p{N})",
                                  R"([\p{P}!-/:-@\[-`{-~])", kGpt2Words};

constexpr Pattern kDeepseekLlm[] = {
    R"([\r\n])", R"(\s?[\p{Lu}\p{Ll}\p{Lt}]+)", R"(\s?[!-/:-~！-／：-～‘-‟　-。]+)",
    R"(\s+$)",   R"([一-龥ࠀ-一가-퟿]+)", R"(\p{N}+)"};
constexpr Pattern kDeepseekCoder[] = {R"([\r\n])", R"(\s?\p{L}+)", R"(\s?\p{P}+)",
                                      R"([一-龥ࠀ-一가-퟿]+)", R"(\p{N})"};
#define LAMELLA_DEEPSEEK_WORDS                                                              \
  R"([!"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+)" \
  R"(| ?[\p{P}\p{S}]+)"
constexpr Pattern kDeepseek3[] = {R"(\p{N}{1,3})", R"([一-龥぀-ゟ゠-ヿ]+)",
                                  LAMELLA_DEEPSEEK_WORDS R"([\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
constexpr Pattern kSpark[] = {R"(\p{N}{1,3})", R"([一-龥぀-ゟ゠-ヿ]+)",
                              LAMELLA_DEEPSEEK_WORDS R"(|[\r\n]|\s+(?!\S)|\s+)", R"(\p{N})"};
// Digits by threes from the right, and more scripts that write without spaces.
constexpr Pattern kAfmoe[] = {
    R"(\p{N}+)", kThreesOfNumber,
    R"([一-鿿㐀-䶿豈-﫿぀-ゟ゠-ヿ･-ﾟ⼀-⿟เ-๿຀-໿ក-៿က-႟ꩠ-ꩿꧠ-꧿가-힯ᄀ-ᇿ]+)",
    LAMELLA_DEEPSEEK_WORDS R"([\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)"};
#undef LAMELLA_DEEPSEEK_WORDS

// What a file means that names none: punctuation, then GPT-2's words, then digits by threes.
constexpr Pattern kDefault[] = {R"([\p{P}$+<=>^~|]+)", kGpt2Words, R"(\p{N}+)", "[0-9][0-9][0-9]"};

#undef LAMELLA_CONTRACTIONS
#undef LAMELLA_MARKS_AND_SPACE
#undef LAMELLA_UPPER
#undef LAMELLA_LOWER

constexpr PreTokenizerRow kRows[] = {
    {.name = "a.x-4.0", .patterns = kGpt2},
    {.name = "afmoe", .patterns = kAfmoe, .clean_spaces = false},
    {.name = "bailingmoe", .patterns = kBailing, .has_reference = true, .clean_spaces = false},
    {.name = "bailingmoe2", .patterns = kBailing, .clean_spaces = false},
    {.name = "bloom", .patterns = kBloom, .has_reference = true},
    {.name = "chameleon", .patterns = kChameleon, .add_bos = true, .clean_spaces = false},
    {.name = "chatglm-bpe", .patterns = kLlama3},
    {.name = "codeshell", .patterns = kSingleDigits},
    {.name = "cohere2moe", .patterns = kTinyAya, .clean_spaces = false},
    {.name = "command-r", .patterns = kSingleDigits, .has_reference = true, .clean_spaces = false},
    {.name = "dbrx", .patterns = kLlama3, .has_reference = true},
    {.name = "deepseek-coder",
     .patterns = kDeepseekCoder,
     .has_reference = true,
     .clean_spaces = false},
    {.name = "deepseek-llm",
     .patterns = kDeepseekLlm,
     .has_reference = true,
     .clean_spaces = false},
    {.name = "deepseek-r1-qwen", .patterns = kQwen2, .clean_spaces = false},
    {.name = "deepseek-v3", .patterns = kDeepseek3, .has_reference = true, .clean_spaces = false},
    {.name = "default", .patterns = kDefault},
    {.name = "exaone", .patterns = kSingleDigits},
    {.name = "exaone-moe", .patterns = kExaoneMoe},
    {.name = "exaone4", .patterns = kGpt2},
    {.name = "f2llmv2", .patterns = kQwen2, .clean_spaces = false},
    {.name = "falcon", .patterns = kFalcon, .has_reference = true},
    {.name = "falcon-h1",
     .patterns = kLlama3,
     .ignore_merges = true,
     .add_bos = true,
     .has_reference = true},
    {.name = "falcon3", .patterns = kLlama3, .ignore_merges = true, .add_bos = true},
    {.name = "gigachat", .patterns = kGpt2},
    {.name = "glm4", .patterns = kLlama3, .ignore_merges = true, .has_reference = true},
    {.name = "gpt-2", .patterns = kGpt2, .has_reference = true},
    {.name = "gpt-4o", .patterns = kGpt4o, .has_reference = true, .clean_spaces = false},
    {.name = "gpt2", .patterns = kGpt2},
    {.name = "gpt3-finnish", .patterns = kBloom},
    {.name = "granite-docling", .patterns = kGpt2, .clean_spaces = false},
    {.name = "granite-embed-multi-97m",
     .patterns = kGpt4o,
     .ignore_merges = true,
     .clean_spaces = false},
    {.name = "grok-2", .patterns = kQwen2, .clean_spaces = false},
    {.name = "hunyuan", .patterns = kQwen2, .clean_spaces = false},
    {.name = "hunyuan-dense", .patterns = kDeepseek3, .clean_spaces = false},
    {.name = "hy_v4", .patterns = kDeepseek3, .clean_spaces = false},
    {.name = "jais", .patterns = kGpt2},
    {.name = "jais-2", .patterns = kJais2},
    {.name = "jina-de", .patterns = kGpt2},
    {.name = "jina-es", .patterns = kGpt2},
    {.name = "jina-v1-en", .patterns = kGpt2},
    {.name = "jina-v2-code", .patterns = kGpt2},
    {.name = "jina-v2-de", .patterns = kGpt2},
    {.name = "jina-v2-es", .patterns = kGpt2},
    {.name = "jina-v5-nano", .patterns = kLlama3, .ignore_merges = true, .add_bos = true},
    {.name = "joyai-llm", .patterns = kDeepseek3, .clean_spaces = false},
    {.name = "kanana2", .patterns = kGpt4o, .clean_spaces = false},
    {.name = "kimi-k2", .patterns = kKimi, .has_reference = true, .clean_spaces = false},
    {.name = "kormo", .patterns = kQwen2, .clean_spaces = false},
    {.name = "laguna", .patterns = kLaguna, .clean_spaces = false},
    {.name = "lfm2",
     .patterns = kLlama3,
     .ignore_merges = true,
     .add_bos = true,
     .has_reference = true},
    {.name = "llada-moe", .patterns = kBailing, .clean_spaces = false},
    {.name = "llama-bpe",
     .patterns = kLlama3,
     .ignore_merges = true,
     .add_bos = true,
     .has_reference = true},
    {.name = "llama-v3", .patterns = kLlama3, .ignore_merges = true, .add_bos = true},
    {.name = "llama3", .patterns = kLlama3, .ignore_merges = true, .add_bos = true},
    {.name = "llama4", .patterns = kGpt4o, .clean_spaces = false},
    {.name = "megrez", .patterns = kQwen2},
    {.name = "mellum", .patterns = kGpt2},
    {.name = "mellum2", .patterns = kSingleDigits},
    {.name = "midm-2.0", .patterns = kLlama3, .ignore_merges = true, .add_bos = true},
    {.name = "minerva-7b", .patterns = kSingleDigits},
    {.name = "minicpm5", .patterns = kMiniCpm5, .ignore_merges = true},
    {.name = "minimax-m2", .patterns = kGpt4o, .clean_spaces = false},
    {.name = "modern-bert", .patterns = kGpt2, .has_reference = true},
    {.name = "mpt", .patterns = kGpt2},
    {.name = "olmo", .patterns = kGpt2},
    {.name = "phi-2", .patterns = kGpt2},
    {.name = "pixtral",
     .patterns = kLlama3,
     .ignore_merges = true,
     .add_bos = true,
     .has_reference = true},
    {.name = "poro-chat", .patterns = kBloom, .clean_spaces = false},
    {.name = "qwen2", .patterns = kQwen2, .has_reference = true, .clean_spaces = false},
    {.name = "qwen35", .patterns = kQwen35, .has_reference = true, .clean_spaces = false},
    {.name = "refact", .patterns = kSingleDigits, .has_reference = true},
    {.name = "roberta-bpe", .patterns = kGpt2},
    {.name = "seed-coder", .patterns = kSeedCoder, .has_reference = true, .clean_spaces = false},
    {.name = "smaug-bpe", .patterns = kLlama3},
    {.name = "smollm", .patterns = kSingleDigits, .has_reference = true, .clean_spaces = false},
    {.name = "solar-open", .patterns = kQwen2, .clean_spaces = false},
    {.name = "spark2_5", .patterns = kSpark, .clean_spaces = false},
    {.name = "stablelm2", .patterns = kQwen2},
    {.name = "starcoder", .patterns = kSingleDigits, .has_reference = true},
    {.name = "superbpe", .patterns = kSuperBpe, .clean_spaces = false},
    {.name = "talkie", .patterns = kGpt4o, .clean_spaces = false},
    {.name = "tekken",
     .patterns = kTekken,
     .ignore_merges = true,
     .add_bos = true,
     .has_reference = true,
     .clean_spaces = false},
    {.name = "tiny_aya", .patterns = kTinyAya, .clean_spaces = false},
    {.name = "trillion", .patterns = kGpt2, .clean_spaces = false},
    {.name = "ufakzeka", .patterns = kUfakzeka, .clean_spaces = false},
    {.name = "viking", .patterns = kViking, .has_reference = true, .clean_spaces = false},
    {.name = "youtu", .patterns = kYoutu, .ignore_merges = true, .clean_spaces = false},
};

}  // namespace

std::span<const PreTokenizerRow> pre_tokenizers() { return kRows; }

const PreTokenizerRow& pre_tokenizer(std::string_view name) {
  if (name.empty()) name = "default";
  std::vector<std::string_view> names;
  for (const PreTokenizerRow& row : kRows) {
    if (row.name == name) return row;
    names.push_back(row.name);
  }
  throw UserError(str("tokenizer: unknown pre-tokenizer; got '", printable(name, 60),
                      "'; want one of ", join(names, ", "), did_you_mean(name, names)));
}

}  // namespace lamella
