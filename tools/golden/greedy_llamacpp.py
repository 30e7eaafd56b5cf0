#!/usr/bin/env python3
"""Reference runs of a model by llama.cpp, for `lamella check greedy`: OUT.json from MODEL.gguf.

usage: greedy_llamacpp.py MODEL.gguf OUT.json    (needs PyPI numpy, gguf 0.19, xllamacpp 2026.10.11549)

`exact` is llama.cpp on the weights widened to f32, with f32 KV and no flash attention; `native` on the stored types,
fed the exact tokens. The library is called through its C ABI; where the two structs keep what is set here was read off
their defaults.
"""
import ctypes as C
import glob
import hashlib
import importlib.metadata
import importlib.util
import json
import os
import sys
import tempfile

import gguf
import numpy as np

STEPS, CONTEXT, THREADS = 48, 1024, 2
PROMPTS = [
    "The capital of France is",
    "Once upon a time, in a village between two rivers, there lived a clockmaker who",
    "def fibonacci(n):\n    \"\"\"Returns the n-th Fibonacci number.\"\"\"\n",
    "Zutaten für einen einfachen Apfelkuchen:\n- 200 g Mehl\n-",
    "Question: Why do leaves change their colour in autumn?\nAnswer:",
]


class Model(C.Structure):
    _fields_ = [("devices", C.c_void_p), ("overrides", C.c_void_p), ("gpu_layers", C.c_int32), ("rest", C.c_char * 300)]


class Context(C.Structure):
    """32-bit words: 0 n_ctx, 1 n_batch, 7 and 8 threads, 13 flash attention, 26 and 27 the types of K and V."""
    _fields_ = [("words", C.c_int32 * 120)]


class Batch(C.Structure):
    _fields_ = [("n", C.c_int32), ("token", C.c_void_p), ("embd", C.c_void_p), ("pos", C.c_void_p), ("n_seq", C.c_void_p),
                ("seq", C.c_void_p), ("logits", C.c_void_p)]


def library():
    origin = importlib.util.find_spec("xllamacpp").origin
    lib = C.CDLL(glob.glob(os.path.join(os.path.dirname(origin), "xllamacpp*.so"))[0])
    lib.llama_model_default_params.restype = Model
    lib.llama_context_default_params.restype = Context
    lib.llama_model_load_from_file.restype = C.c_void_p
    lib.llama_model_load_from_file.argtypes = (C.c_char_p, Model)
    lib.llama_init_from_model.restype = C.c_void_p
    lib.llama_init_from_model.argtypes = (C.c_void_p, Context)
    lib.llama_model_get_vocab.restype = C.c_void_p
    lib.llama_model_get_vocab.argtypes = (C.c_void_p,)
    lib.llama_vocab_n_tokens.argtypes = (C.c_void_p,)
    lib.llama_tokenize.argtypes = (C.c_void_p, C.c_char_p, C.c_int32, C.c_void_p, C.c_int32, C.c_bool, C.c_bool)
    lib.llama_get_memory.restype = C.c_void_p
    lib.llama_get_memory.argtypes = (C.c_void_p,)
    lib.llama_memory_clear.argtypes = (C.c_void_p, C.c_bool)
    lib.llama_decode.argtypes = (C.c_void_p, Batch)
    lib.llama_get_logits_ith.restype = C.POINTER(C.c_float)
    lib.llama_get_logits_ith.argtypes = (C.c_void_p, C.c_int32)
    lib.llama_backend_init()
    return lib


class Runner:
    def __init__(self, lib, path):
        self.lib = lib
        params = lib.llama_model_default_params()
        params.gpu_layers = 0
        self.model = lib.llama_model_load_from_file(path.encode(), params)
        context = lib.llama_context_default_params()
        assert list(context.words[26:28]) == [1, 1] and context.words[13] == -1, "another layout of the parameters"
        context.words[0] = context.words[1] = CONTEXT
        context.words[7] = context.words[8] = THREADS
        context.words[13] = context.words[26] = context.words[27] = 0
        self.context = lib.llama_init_from_model(self.model, context)
        self.vocab = lib.llama_model_get_vocab(self.model)
        self.n_vocab = lib.llama_vocab_n_tokens(self.vocab)

    def tokenize(self, text):
        data, room = text.encode(), (C.c_int32 * CONTEXT)()
        n = self.lib.llama_tokenize(self.vocab, data, len(data), C.cast(room, C.c_void_p), CONTEXT, True, False)
        return list(room[:n])

    def clear(self):
        self.lib.llama_memory_clear(self.lib.llama_get_memory(self.context), True)

    def step(self, tokens):
        """Logits of all these tokens, appended to what is there."""
        n = len(tokens)
        at, wanted = (C.c_int32 * n)(*tokens), (C.c_int8 * n)(*[1] * n)
        batch = Batch(n, C.cast(at, C.c_void_p), None, None, None, None, C.cast(wanted, C.c_void_p))
        assert self.lib.llama_decode(self.context, batch) == 0
        return [np.ctypeslib.as_array(self.lib.llama_get_logits_ith(self.context, i), (self.n_vocab,)).copy()
                for i in range(n)]


def best(logits):
    order = np.argsort(-logits, kind="stable")[:5]
    return [[int(t), round(float(logits[t]), 5)] for t in order]


def greedy(runner, tokens, forced=None):
    """The best logits of each step, along its own path or the given one."""
    runner.clear()
    row, steps = runner.step(tokens)[-1], []
    for i in range(STEPS):
        steps.append(best(row))
        if i + 1 < STEPS:
            row = runner.step([forced[i] if forced else steps[-1][0][0]])[0]
    return steps


def widen(path, out):
    reader = gguf.GGUFReader(path)
    writer = gguf.GGUFWriter(out, reader.fields["general.architecture"].contents())
    for field in reader.fields.values():
        if field.name.startswith("GGUF.") or field.name == "general.architecture":
            continue
        sub_type = field.types[-1] if field.types[0] == gguf.GGUFValueType.ARRAY else None
        writer.add_key_value(field.name, field.contents(), field.types[0], sub_type)
    for tensor in reader.tensors:
        writer.add_tensor(tensor.name, gguf.dequantize(tensor.data, tensor.tensor_type).astype(np.float32))
    writer.write_header_to_file()
    writer.write_kv_data_to_file()
    writer.write_tensors_to_file()
    writer.close()


def main(path, out):
    lib = library()
    with tempfile.TemporaryDirectory() as folder:
        wide = os.path.join(folder, "wide.gguf")
        widen(path, wide)
        exact, native = Runner(lib, wide), Runner(lib, path)
        runs = []
        for text in PROMPTS:
            tokens = exact.tokenize(text)
            top5 = greedy(exact, tokens)
            path_taken = [step[0][0] for step in top5]
            runs.append({"kind": "raw", "text": text, "tokens": tokens, "greedy": path_taken,
                         "margins": [round(s[0][1] - s[1][1], 5) for s in top5], "top5": top5,
                         "native_top5": greedy(native, tokens, path_taken),
                         "native_greedy": [step[0][0] for step in greedy(native, tokens)]})
    with open(path, "rb") as file:
        digest = hashlib.sha256(file.read()).hexdigest()
    source = f"llama.cpp of PyPI xllamacpp {importlib.metadata.version('xllamacpp')}, tools/golden/greedy_llamacpp.py"
    result = {"source": source, "model_file": os.path.basename(path), "model_sha256": digest, "runs": runs}
    with open(out, "w", encoding="utf-8") as file:
        json.dump(result, file, indent=None, separators=(",", ":"))
        file.write("\n")


if __name__ == "__main__":
    main(sys.argv[1], sys.argv[2])
