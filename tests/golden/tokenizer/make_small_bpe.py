"""Makes small_bpe.json: a byte-level BPE vocabulary of 700 tokens and what the `tokenizers` library
(PyPI, 0.23) makes of some strings with each pre-tokenizer. Run: python make_small_bpe.py"""

import base64
import json
import random

import tokenizers
from tokenizers import AddedToken, Regex, Tokenizer, decoders, models, pre_tokenizers, trainers

TEXT = """The quick brown fox jumps over the lazy dog, and then it's off to the river; they'll see what we've
done there. I'm not sure he'd say that's 1234567 or 42, but you're right about 3.14159 and 2026-11-30.
    for (int i = 0; i < n; ++i) { sum += x[i] * y[i]; }   // the inner loop
Größe, naïve café, señor; Привет, мир! Как дела? こんにちは世界。中文没有空格。 नमस्ते दुनिया 😀🤖

Another paragraph: the other thing, the others, their weather together; nothing without breathing.
\tTabs\tand  double  spaces\r\nand a line end.  THE END, THEY'LL SAY: IT'S DONE.
""" * 3

PIECES = ["the", "McDonald", "camelCase", "ÄÖü", "/", "한글", "カナ", " the", "THE", "ing", " of", "'s", "'S", "'ll", "'LL", "'ve", " ", "  ", "\n", "\r\n", "\t", "12",
          "7", "345", "\u00e9", "\u00df", "\u6f22", "\u0915\u094d", "\U0001f642", "\u0130", "\u00a0", "\u3000", "\u2167", "\u00bd",
          "_", "-", "==", "{", "}", "!", ".", ",", "\\", "\"", "z", "A", "<|end|>", "<|note|>", "e\u0301", "\u200b"]

DIGITS = pre_tokenizers.Digits(individual_digits=True)
GPT2 = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=True)
BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)


def split(pattern):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(pattern), "isolated"), BYTES])


def splits(*patterns):
    return pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(p), "isolated") for p in patterns] + [BYTES])


SHORT = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)"
UPPER, LOWER = r"[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]", r"[\p{Ll}\p{Lm}\p{Lo}\p{M}]"
CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+"
REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
PRE = {
    "gpt-2": GPT2,
    "smollm": pre_tokenizers.Sequence([DIGITS, GPT2]),
    "llama-bpe": split(CONTRACTIONS + r"|\p{N}{1,3}" + REST),
    "qwen2": split(CONTRACTIONS + r"|\p{N}" + REST),
    "gpt-4o": split(rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+{SHORT}?|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*{SHORT}?"
                    r"|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"),
    "tekken": split(rf"[^\r\n\p{{L}}\p{{N}}]?{UPPER}*{LOWER}+|[^\r\n\p{{L}}\p{{N}}]?{UPPER}+{LOWER}*"
                    r"|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+"),
    "qwen35": split(CONTRACTIONS.replace(r"]?\p{L}+", r"]?[\p{L}\p{M}]+") + r"|\p{N}" +
                    REST.replace(r"\p{L}\p{N}", r"\p{L}\p{M}\p{N}")),
    "deepseek-v3": splits(r"\p{N}{1,3}", "[一-龥぀-ゟ゠-ヿ]+",
                          r"[!\"#$%&'()*+,\-./:;<=>?@\[\\\]^_`{|}~][A-Za-z]+|[^\r\n\p{L}\p{P}\p{S}]?[\p{L}\p{M}]+"
                          r"| ?[\p{P}\p{S}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"),
}

BLOOM = r" ?[^(\s|.,!?…。，、।۔،)]+"
PRE.update({
    "bloom": splits(BLOOM),
    "viking": pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(BLOOM), "isolated"), DIGITS, BYTES]),
    "falcon": pre_tokenizers.Sequence([pre_tokenizers.Punctuation("contiguous"), GPT2, pre_tokenizers.Digits(),
                                       pre_tokenizers.Split(Regex("[0-9][0-9][0-9]"), "isolated")]),
    "deepseek-coder": pre_tokenizers.Sequence([pre_tokenizers.Split(Regex(p), "isolated") for p in (
        r"[\r\n]", r"\s?\p{L}+", r"\s?\p{P}+", "[一-龥ࠀ-一가-퟿]+")] + [DIGITS, BYTES]),
    "kimi-k2": split(r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+"
                     rf"{SHORT}?|[^\r\n\p{{L}}\p{{N}}]?[\p{{Lu}}\p{{Lt}}\p{{Lm}}\p{{Lo}}\p{{M}}&&[^\p{{Han}}]]+[\p{{Ll}}\p{{Lm}}\p{{Lo}}\p{{M}}&&[^\p{{Han}}]]*{SHORT}?"
                     r"|\p{N}{1,3}" + REST),
    "seed-coder": split(CONTRACTIONS + r"|\p{N}| ?[^\s\p{L}\p{N}\r\n]+|\s*[\r\n]+|\s+(?!\S)|\s+"),
    "bailingmoe": split(r"'(?i:[sdmt]|ll|ve|re)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]|\s+(?!\S)|\s+"),
})


def main():
    rng = random.Random(7)
    trained = Tokenizer(models.BPE())
    trained.pre_tokenizer = GPT2
    trained.train_from_iterator([TEXT], trainers.BpeTrainer(
        vocab_size=700, show_progress=False, initial_alphabet=pre_tokenizers.ByteLevel.alphabet()))
    model = json.loads(trained.to_str())["model"]
    tokens = sorted(model["vocab"], key=model["vocab"].get)
    merges = [tuple(m) for m in model["merges"]]
    texts = ["", "a", "Hello world", "I can't believe it's not butter; we'VE done what they'll say", " leading",
             "trailing ", "  \n  \n  ", "a  b   c    d", "x" * 60, "aaaa" * 40, "3.14159265358979", "1234567890",
             "tab\tthen  spaces \n  newline\t\n", "<|end|>the<|note|> the<|end|>", "<<|end|>>", "<|end|"]
    texts += ["".join(rng.choice(PIECES) for _ in range(rng.randrange(3, 24))) for _ in range(50)]
    out = {"source": f"tokenizers {tokenizers.__version__}",
           "tokens": tokens + ["<|end|>", "<|note|>"], "merges": [" ".join(m) for m in merges],
           "control": [len(tokens)], "user_defined": [len(tokens) + 1],
           "strings": [base64.b64encode(t.encode()).decode() for t in texts], "ids": {}}
    for name, pre in PRE.items():
        t = Tokenizer(models.BPE(vocab=model["vocab"], merges=merges, ignore_merges=name in ("llama-bpe", "tekken")))
        t.pre_tokenizer = pre
        t.decoder = decoders.ByteLevel()
        t.add_special_tokens([AddedToken("<|end|>", normalized=False), AddedToken("<|note|>", normalized=False)])
        rows = []
        for text in texts:
            ids = t.encode(text, add_special_tokens=False).ids
            assert t.decode(ids, skip_special_tokens=False) == text
            rows.append(ids)
        out["ids"][name] = rows
    with open("small_bpe.json", "w") as file:
        json.dump(out, file, ensure_ascii=True, separators=(",", ":"))


main()
