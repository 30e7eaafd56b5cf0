#!/usr/bin/env python3
"""Times ONNX Runtime on the LSTM of bench/recurrent_bench.cpp (100 steps, a batch of one, inputs as wide as the state) and
that benchmark beside it, in turns. Needs onnxruntime and onnx, in an environment outside the tree:

    python3 -m venv ../peer && ../peer/bin/pip install onnxruntime==1.32.0 onnx numpy
    ../peer/bin/python bench/lstm_peer.py build/release/recurrent_bench
"""
import json
import subprocess
import sys
import time

import numpy as np
import onnx
import onnxruntime

STEPS, THREADS, ROUNDS = 100, 2, 3


def session(hidden):
    rng = np.random.default_rng(1)

    def weight(name, *shape):
        return onnx.numpy_helper.from_array(rng.uniform(-0.1, 0.1, shape).astype(np.float32), name)

    node = onnx.helper.make_node("LSTM", ["x", "w", "r", "b"], ["y"], hidden_size=hidden)
    graph = onnx.helper.make_graph(
        [node], "lstm", [onnx.helper.make_tensor_value_info("x", onnx.TensorProto.FLOAT, [STEPS, 1, hidden])],
        [onnx.helper.make_tensor_value_info("y", onnx.TensorProto.FLOAT, [STEPS, 1, 1, hidden])],
        [weight("w", 1, 4 * hidden, hidden), weight("r", 1, 4 * hidden, hidden), weight("b", 1, 8 * hidden)])
    model = onnx.helper.make_model(graph, opset_imports=[onnx.helper.make_opsetid("", 17)], ir_version=9)
    options = onnxruntime.SessionOptions()
    options.intra_op_num_threads, options.inter_op_num_threads = THREADS, 1
    return onnxruntime.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])


def peer_us(hidden, runs=300):
    model, x = session(hidden), {"x": np.random.default_rng(2).uniform(-1, 1, (STEPS, 1, hidden)).astype(np.float32)}
    times = []
    for _ in range(runs):
        start = time.perf_counter()
        model.run(None, x)
        times.append(time.perf_counter() - start)
    return min(times) * 1e6


def own_us(program, hidden):
    out = subprocess.run([program, f"--benchmark_filter=lstm/{hidden}/{THREADS}/", "--benchmark_format=json",
                          "--benchmark_min_time=0.0001", "--benchmark_repetitions=300"],
                         check=True, capture_output=True, text=True).stdout
    return min(b["real_time"] for b in json.loads(out)["benchmarks"] if b["run_type"] == "iteration")


def main():
    print(f"ONNX Runtime {onnxruntime.__version__}, {STEPS} steps, {THREADS} threads; microseconds, the least of 300 runs "
          f"in each of {ROUNDS} rounds, median of the rounds")
    for hidden in (128, 512):
        rounds = [(own_us(sys.argv[1], hidden), peer_us(hidden)) for _ in range(ROUNDS)]
        own, peer = np.median(rounds, axis=0)
        ratio = np.median([a / b for a, b in rounds])
        print(f"hidden {hidden}: {own:.0f} beside {peer:.0f}, ratio {ratio:.2f}")


main()
