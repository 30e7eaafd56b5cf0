"""Makes one tokenizer of every kind and 200 random strings with what its own library makes of them. The libraries are
`tokenizers` 0.23 (folders with tokenizer.json) and `sentencepiece` 0.2 (NAME.gguf), both from PyPI. Each NAME.cases.json
is what `lamella check tokenizer NAME.cases.json NAME` reads.

usage: make_tokenizers.py [--seed N] [--out FOLDER]; the committed files are those of the defaults
"""

import argparse
import base64
import io
import json
import os
import random
import struct

import sentencepiece
import tokenizers
from tokenizers import (AddedToken, Regex, Tokenizer, decoders, models, normalizers, pre_tokenizers, processors,
                        trainers)

TEXT = """The river runs past the old mill and down to the sea, where the ships lie at anchor in the evening light.
She said that they'd come back when it's warmer; he wasn't sure, and I'm not either, but we'll see what we've got.
In 1984 and 2026 there were 1234567 readers, 3.14 percent more than 42 years before: 100 or 1,000 of them new.
    for (int i = 0; i < n; ++i) { total += weights[i] * inputs[i]; }  // the sum of products
def near(a, b): return abs(a - b) <= 1e-6 * max(abs(a), abs(b))
Größe und Länge, naïve café, señor niño; Привет, как дела в большом мире? Γειά σου κόσμε. שלום עולם
今日は天気がいいですね。中文没有空格，但是有标点。 한국어 문장도 있습니다. नमस्ते दुनिया 🙂🤖👩‍🚀
THE HEADLINES WERE LOUD: NOTHING HAPPENED. The others, their mothers, another weather; together, rather, further.
\tTabs\tand  double   spaces\r\nand line ends.\n\nTokenization, normalization, organization, realisation, ending.
""" * 4

PIECES = ["the", "The", " the", "other", "weather", "ing", "tion", "McDonald", "camelCase", "naïve", "Größe", "e\u0301", "ÅΩﬁ①", "mill", "'s", "'S", "'ll", "'LL",
          "n't", " ", "  ", "   ", "\n", "\r\n", "\n\n", "\t", "7", "12", "345", "1234567", "3.14", "½", "Ⅷ", "中文", "今日は", "カナ", "한국어",
          "नमस्ते", "Привет", "שלום", "🙂", "👩‍🚀", "\u00a0", "\u3000", "\u200b", "\u00ad", "\u0001", "İ", "ß", "ǅ", "_", "-", "==", "{", "}", "!", "...", ",",
          "\\", "\"", "/", "~", "$", "<s>", "</s>", "<|end|>", "<|note|>", "<mask>", "[MASK]", "[UNK]", "<unk>", "▁", "▁the", "##ing", "<0x41>", "Ġ", "zq", "A"]

CONTRACTIONS = r"(?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+"
REST = r"| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"
BYTES = pre_tokenizers.ByteLevel(add_prefix_space=False, use_regex=False)


def split(pattern, behavior="isolated", invert=False):
    return pre_tokenizers.Split(Regex(pattern), behavior, invert)


def train(model, trainer, normalizer=None, pre=None, decoder=None):
    t = Tokenizer(model)
    t.normalizer = normalizer
    t.pre_tokenizer = pre
    t.decoder = decoder
    t.train_from_iterator(TEXT.splitlines(keepends=True), trainer)
    return t


def byte_level(pre, normalizer=None, size=420, **options):
    t = train(models.BPE(**options), trainers.BpeTrainer(vocab_size=size, show_progress=False,
              initial_alphabet=pre_tokenizers.ByteLevel.alphabet()), normalizer, pre, decoders.ByteLevel())
    t.add_special_tokens([AddedToken("<s>", normalized=False), AddedToken("<|end|>", normalized=False)])
    t.add_tokens([AddedToken("<|note|>", normalized=False)])
    return t


def with_bos(t, bos="<s>"):
    t.post_processor = processors.TemplateProcessing(single=f"{bos} $A", special_tokens=[(bos, t.token_to_id(bos))])
    return t


def llama_like(normalizer, pre, decoder, size=560):
    """Characters, with all bytes for what has no character."""
    byte_tokens = [f"<0x{b:02X}>" for b in range(256)]
    t = train(models.BPE(unk_token="<unk>", fuse_unk=True, byte_fallback=True), trainers.BpeTrainer(
        vocab_size=size, show_progress=False, limit_alphabet=70, special_tokens=["<unk>", "<s>", "</s>"] + byte_tokens),
        normalizer, pre, decoder)
    root = json.loads(t.to_str())
    root["added_tokens"] = root["added_tokens"][:3]  # bytes belong to the model alone
    root["model"]["byte_fallback"] = True
    return Tokenizer.from_str(json.dumps(root))


def spaced_decoder():
    return decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse(),
                              decoders.Strip(" ", 1, 0)])


def unigram(normalizer, pre, size=300, byte_fallback=False):
    t = train(models.Unigram(), trainers.UnigramTrainer(vocab_size=size, show_progress=False, unk_token="<unk>",
              special_tokens=["<pad>", "</s>", "<unk>"]), normalizer, pre, decoders.Metaspace())
    t.post_processor = processors.TemplateProcessing(single="$A </s>", special_tokens=[("</s>", 1)])
    if byte_fallback:
        root = json.loads(t.to_str())
        have = {text for text, _ in root["model"]["vocab"]}
        root["model"]["vocab"] += [[f"<0x{b:02X}>", -20.0] for b in range(256) if f"<0x{b:02X}>" not in have]
        root["model"]["byte_fallback"] = True
        t = Tokenizer.from_str(json.dumps(root))
    return t


def word_piece(normalizer, pre=None, size=380):
    special = ["[PAD]", "[UNK]", "[CLS]", "[SEP]", "[MASK]"]
    t = train(models.WordPiece(unk_token="[UNK]"), trainers.WordPieceTrainer(
        vocab_size=size, show_progress=False, limit_alphabet=90, special_tokens=special), normalizer,
        pre or pre_tokenizers.BertPreTokenizer(), decoders.WordPiece())
    t.post_processor = processors.BertProcessing(("[SEP]", 3), ("[CLS]", 2))
    return t


def roberta():
    t = byte_level(pre_tokenizers.ByteLevel(add_prefix_space=True))
    t.add_special_tokens([AddedToken("<mask>", lstrip=True, normalized=False)])
    t.post_processor = processors.RobertaProcessing(("<|end|>", t.token_to_id("<|end|>")), ("<s>", t.token_to_id("<s>")))
    return t


def clip():
    words = split(r"<\|startoftext\|>|<\|endoftext\|>|'s|'t|'re|'ve|'m|'ll|'d|[\p{L}]+|[\p{N}]|[^\s\p{L}\p{N}]+", "removed", True)
    normal = normalizers.Sequence([normalizers.NFC(), normalizers.Replace(Regex(r"\s+"), " "), normalizers.Lowercase()])
    t = train(models.BPE(unk_token="<|end|>", end_of_word_suffix="</w>"), trainers.BpeTrainer(
        vocab_size=640, show_progress=False, end_of_word_suffix="</w>", special_tokens=["<s>", "<|end|>"],
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet()), normal, pre_tokenizers.Sequence([words, BYTES]), None)
    return t


def word_level():
    return train(models.WordLevel(unk_token="[UNK]"), trainers.WordLevelTrainer(vocab_size=60, show_progress=False,
                 special_tokens=["[UNK]"]), normalizers.Nmt(), pre_tokenizers.Whitespace(), None)


HUGGING_FACE = {
    "gpt2": lambda: byte_level(pre_tokenizers.ByteLevel(add_prefix_space=False)),
    "llama3": lambda: with_bos(byte_level(pre_tokenizers.Sequence([split(CONTRACTIONS + r"|\p{N}{1,3}" + REST), BYTES]),
                                          ignore_merges=True)),
    "qwen2": lambda: byte_level(pre_tokenizers.Sequence([split(CONTRACTIONS + r"|\p{N}" + REST), BYTES]), normalizers.NFC()),
    "deepseek": lambda: byte_level(pre_tokenizers.Sequence([
        split(r"[\r\n]"), split(r"\s?\p{L}+"), split(r"\s?\p{P}+"), split("[一-龥ࠀ-一가-퟿]+"),
        pre_tokenizers.Digits(individual_digits=True), BYTES])),
    "falcon": lambda: byte_level(pre_tokenizers.Sequence([
        pre_tokenizers.Punctuation("contiguous"), pre_tokenizers.ByteLevel(add_prefix_space=False),
        pre_tokenizers.Digits(), split("[0-9][0-9][0-9]")])),
    "kimi": lambda: byte_level(pre_tokenizers.Sequence([split(
        r"[\p{Han}]+|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]*[\p{Ll}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+|"
        r"[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}&&[^\p{Han}]]+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+"), BYTES])),
    "roberta": roberta,
    "clip": clip,
    "llama2": lambda: with_bos(llama_like(normalizers.Sequence([normalizers.Prepend("▁"), normalizers.Replace(" ", "▁")]),
                                          None, spaced_decoder())),
    "llama2_metaspace": lambda: with_bos(llama_like(None, pre_tokenizers.Metaspace(prepend_scheme="first", split=False),
                                                    spaced_decoder())),
    "gemma": lambda: llama_like(normalizers.Replace(" ", "▁"), pre_tokenizers.Split(" ", "merged_with_previous"),
                                decoders.Sequence([decoders.Replace("▁", " "), decoders.ByteFallback(), decoders.Fuse()])),
    "t5": lambda: unigram(normalizers.Sequence([normalizers.NFKC(), normalizers.Replace(Regex(" {2,}"), " ")]),
                          pre_tokenizers.Metaspace(prepend_scheme="always")),
    "albert": lambda: unigram(normalizers.Sequence([
        normalizers.Replace("``", '"'), normalizers.Replace("''", '"'), normalizers.NFKD(), normalizers.StripAccents(),
        normalizers.Lowercase(), normalizers.Strip()]), pre_tokenizers.Metaspace(prepend_scheme="always")),
    "unigram_bytes": lambda: unigram(normalizers.NFD(), pre_tokenizers.Sequence([
        pre_tokenizers.WhitespaceSplit(), pre_tokenizers.Metaspace()]), byte_fallback=True),
    "bert_uncased": lambda: word_piece(normalizers.BertNormalizer()),
    "bert_cased": lambda: word_piece(normalizers.BertNormalizer(lowercase=False, strip_accents=False)),
    "word_level": word_level,
}


def strings(rng, count):
    out = ["", " ", "a", "Hello, world!", "  two  spaces  ", "x" * 70, "aaaa" * 30, "\n\n", "<|end|>the<|note|> the<s>"]
    while len(out) < count:
        out.append("".join(rng.choice(PIECES) for _ in range(rng.randrange(1, 14))))
    return out


def encoded(text):
    return base64.b64encode(text.encode()).decode()


def hugging_face_entry(t, text):
    t.encode_special_tokens = True  # special tokens in the text are letters
    plain = t.encode(text, add_special_tokens=False).ids
    t.encode_special_tokens = False
    special = t.encode(text, add_special_tokens=False).ids
    entry = {"b64": encoded(text), "ids": plain}
    if special != plain:
        entry["ids_special"] = special
    return entry, special


def write_cases(out, name, source, entries):
    with open(os.path.join(out, name + ".cases.json"), "w") as file:
        file.write('{"source": ' + json.dumps(source) + ', "strings": [\n')
        file.write(",\n".join(json.dumps(e, separators=(",", ":")) for e in entries) + "\n]}\n")


def make_hugging_face(out, name, texts):
    t = HUGGING_FACE[name]()
    os.makedirs(os.path.join(out, name), exist_ok=True)
    root = json.loads(t.to_str())
    with open(os.path.join(out, name, "tokenizer.json"), "w") as file:
        json.dump(root, file, ensure_ascii=True, separators=(",", ":"))
    t = Tokenizer.from_str(json.dumps(root))
    added = {token["content"] for token in root["added_tokens"]}
    entries = []
    for text in texts:
        entry, special = hugging_face_entry(t, text)
        # Decoders see where a text begins and ends; tokens alone do not, so what stands first must be plain.
        first = t.id_to_token(special[0]) if special else ""
        if t.decoder is not None and first not in added and not first.startswith(("▁▁", "##")):
            entry["detok_b64"] = encoded(t.decode(special, skip_special_tokens=False))
        entries.append(entry)
    write_cases(out, name, f"tokenizers {tokenizers.__version__}", entries)


def gguf_value(value):
    if isinstance(value, bool):
        return 7, struct.pack("<?", value)
    if isinstance(value, int):
        return 4, struct.pack("<I", value)
    if isinstance(value, str):
        return 8, struct.pack("<Q", len(value.encode())) + value.encode()
    if isinstance(value, bytes):
        return 9, struct.pack("<IQ", 0, len(value)) + value
    kind = 8 if isinstance(value[0], str) else 6 if isinstance(value[0], float) else 5
    body = b"".join(gguf_value(v)[1] if kind == 8 else struct.pack("<f" if kind == 6 else "<i", v) for v in value)
    return 9, struct.pack("<IQ", kind, len(value)) + body


def write_gguf(path, values):
    with open(path, "wb") as file:
        file.write(b"GGUF" + struct.pack("<IQQ", 3, 0, len(values)))
        for key, value in values.items():
            kind, body = gguf_value(value)
            file.write(gguf_value(key)[1] + struct.pack("<I", kind) + body)


def train_sentencepiece(**options):
    model = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT.splitlines()), model_writer=model, minloglevel=2, character_coverage=0.98,
        user_defined_symbols=["<|note|>"], **options)
    return model.getvalue()


SENTENCE_PIECE = {
    "spm_bpe": ("llama", dict(model_type="bpe", vocab_size=560, byte_fallback=True, normalization_rule_name="identity",
                              remove_extra_whitespaces=False)),
    "spm_bpe_bare": ("llama", dict(model_type="bpe", vocab_size=560, byte_fallback=True, add_dummy_prefix=False,
                                   normalization_rule_name="identity", remove_extra_whitespaces=False)),
    "spm_unigram": ("t5", dict(model_type="unigram", vocab_size=220, normalization_rule_name="nmt_nfkc")),
}


def make_sentencepiece(out, name, texts):
    from sentencepiece import sentencepiece_model_pb2 as pb2
    kind, options = SENTENCE_PIECE[name]
    serialized = train_sentencepiece(**options)
    sp = sentencepiece.SentencePieceProcessor(model_proto=serialized)
    proto = pb2.ModelProto.FromString(serialized)
    normalizer = proto.normalizer_spec
    values = {
        "general.architecture": "llama", "tokenizer.ggml.model": kind,
        "tokenizer.ggml.tokens": [p.piece for p in proto.pieces],
        "tokenizer.ggml.scores": [float(p.score) for p in proto.pieces],
        "tokenizer.ggml.token_type": [int(p.type) for p in proto.pieces],
        "tokenizer.ggml.unknown_token_id": sp.unk_id(), "tokenizer.ggml.bos_token_id": sp.bos_id(),
        "tokenizer.ggml.eos_token_id": sp.eos_id(), "tokenizer.ggml.add_space_prefix": normalizer.add_dummy_prefix,
        "tokenizer.ggml.remove_extra_whitespaces": normalizer.remove_extra_whitespaces,
    }
    if normalizer.precompiled_charsmap:
        values["tokenizer.ggml.precompiled_charsmap"] = normalizer.precompiled_charsmap
    write_gguf(os.path.join(out, name + ".gguf"), values)
    controls = [p.piece for p in proto.pieces if p.type in (2, 3)] + ["<|note|>"]
    entries = []
    for text in texts:
        # A user-defined token is a cut for GGUF readers, with a space before what follows; and they parse special ones.
        if any(c in text for c in controls) or len(entries) == 200:
            continue
        ids = sp.encode(text)
        entry = {"b64": encoded(text), "ids": ids}
        if sp.unk_id() not in ids and not text.startswith(" ") and kind == "llama" and "▁" not in text:
            entry["detok_b64"] = encoded(sp.decode(ids))
        entries.append(entry)
    write_cases(out, name, f"sentencepiece {sentencepiece.__version__}", entries)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=11)
    parser.add_argument("--out", default=os.path.dirname(os.path.abspath(__file__)))
    options = parser.parse_args()
    os.makedirs(options.out, exist_ok=True)
    texts = strings(random.Random(options.seed), 400)
    for name in HUGGING_FACE:
        make_hugging_face(options.out, name, texts[:200])
    for name in SENTENCE_PIECE:
        make_sentencepiece(options.out, name, texts)


main()
