"""Prints random flag combinations, one JSON object per line: `random_assignments.py SEED COUNT [wide]`.

Speculative, scheduling, graph and mamba flags, with values on both sides of SGLang's rules. Most
combinations keep to the usual shape, as a user's study would; the rest breaks it on purpose, so
that legal, rewritten and refused combinations are all frequent. `wide` adds EAGLE3 and STANDALONE with
a draft model, the breadth of NGRAM, parallelism, split attention backends and what goes with them.
"""

import json
import random
import sys

ALGORITHMS = ["NEXTN"] * 6 + ["EAGLE"] * 2 + ["NGRAM"] * 2 + ["nextn", "MAGIC"]

# name, probability of standing in a combination, values
OTHERS = [
    ("speculative-adaptive", 0.06, [True]),
    ("speculative-use-rejection-sampling", 0.05, [True]),
    ("max-running-requests", 0.5, [1, 16, 48, 96, 128, 0]),
    ("chunked-prefill-size", 0.3, [2048, 4096, 8192, 100, -1]),
    ("page-size", 0.3, [1, 1, 16, 64, 48, 128]),
    ("schedule-policy", 0.2, ["fcfs", "lpm", "lof", "dfs-weight", "random"]),
    ("schedule-conservativeness", 0.15, [0.3, 1.0, 1.3, -1.0]),
    ("enable-priority-scheduling", 0.06, [True]),
    ("retraction-policy", 0.05, ["length", "priority"]),
    ("disable-radix-cache", 0.25, [True]),
    ("disable-overlap-schedule", 0.2, [True]),
    ("enable-mixed-chunk", 0.15, [True]),
    ("num-continuous-decode-steps", 0.1, [1, 2, 4]),
    ("attention-backend", 0.3, ["flashinfer", "triton", "fa3", "trtllm_mha", "torch_native", "flex_attention"]),
    ("kv-cache-dtype", 0.15, ["auto", "fp8_e4m3", "fp8_e5m2"]),
    ("cuda-graph-max-bs-decode", 0.25, [8, 32, 96, 160]),
    ("disable-decode-cuda-graph", 0.08, [True]),
    ("cuda-graph-backend-decode", 0.08, ["full", "disabled"]),
    ("disable-cuda-graph-padding", 0.06, [True]),
    ("enable-torch-compile", 0.06, [True]),
    ("mamba-radix-cache-strategy", 0.2, ["auto", "auto", "no_buffer", "extra_buffer", "extra_buffer_lazy"]),
    ("mamba-track-interval", 0.1, [256, 128, 64, 4]),
    ("mamba-ssm-dtype", 0.15, ["bfloat16", "float32"]),
    ("max-mamba-cache-size", 0.1, [64, 256]),
    ("linear-attn-backend", 0.08, ["triton", "flashinfer"]),
    ("linear-attn-decode-backend", 0.08, ["triton", "flashinfer"]),
    ("enable-linear-replayssm", 0.04, [True]),
    ("enable-linear-replayssm-spec", 0.04, [True]),
]

WIDE_ALGORITHMS = ["NEXTN"] * 4 + ["EAGLE"] * 2 + ["EAGLE3"] * 3 + ["STANDALONE"] * 3 + ["NGRAM"] * 4
BACKENDS = ["flashinfer", "triton", "fa3", "trtllm_mha", "torch_native"]
# resolve.py puts the model's folder in place of MODEL.
DRAFTED = {"EAGLE3", "STANDALONE"}
WIDE_OTHERS = [
    ("speculative-ngram-max-bfs-breadth", 0.25, [1, 1, 4]),
    ("speculative-accept-threshold-single", 0.08, [0.9, 1.0]),
    ("speculative-accept-threshold-acc", 0.05, [0.9]),
    ("speculative-attention-mode", 0.1, ["prefill", "decode"]),
    ("speculative-draft-attention-backend", 0.1, ["triton", "flashinfer", "trtllm_mha"]),
    ("enable-multi-layer-eagle", 0.04, [True]),
    ("tp-size", 0.4, [1, 2, 4, 8]),
    ("pp-size", 0.06, [1, 2]),
    ("attn-dp-size", 0.12, [1, 2]),
    ("prefill-attention-backend", 0.12, BACKENDS),
    ("decode-attention-backend", 0.12, BACKENDS),
    ("cuda-graph-bs-decode", 0.1, [[1, 2, 4, 8], [1, 16, 64]]),
    ("torch-compile-max-bs", 0.05, [16]),
    ("enable-hierarchical-cache", 0.06, [True]),
    ("enable-deterministic-inference", 0.06, [True]),
    ("radix-eviction-policy", 0.1, ["lru", "lfu", "slru"]),
    ("stream-interval", 0.1, [1, 4]),
    ("max-prefill-tokens", 0.1, [8192, 16384]),
    ("enable-two-batch-overlap", 0.04, [True]),
    ("mamba-full-memory-ratio", 0.05, [0.5, 0.9]),
]


def speculative(rng):
    """The numbers of speculation: none, a usual triple, or any subset of them."""
    numbers = {
        "speculative-num-steps": rng.choice([1, 2, 3, 5, 0, 7]),
        "speculative-eagle-topk": rng.choice([1, 1, 1, 2, 4]),
        "speculative-num-draft-tokens": rng.choice([2, 4, 6, 8, 16]),
    }
    shape = rng.random()
    if shape < 0.25:
        return {}
    if shape < 0.75:
        if numbers["speculative-eagle-topk"] == 1 and rng.random() < 0.6:
            numbers["speculative-num-draft-tokens"] = numbers["speculative-num-steps"] + 1
        return numbers
    return {name: value for name, value in numbers.items() if rng.random() < 0.5}


def assignment(rng, algorithms=ALGORITHMS, others=OTHERS, boldest=1.0):
    flags = {}
    has_algorithm = rng.random() < 0.55
    if has_algorithm:
        flags["speculative-algorithm"] = rng.choice(algorithms)
        if flags["speculative-algorithm"] in DRAFTED:
            flags["speculative-draft-model-path"] = "MODEL"
    if has_algorithm or rng.random() < 0.08:
        flags.update(speculative(rng))
    # A quarter of the others' probability in the usual case, all of it in the rest.
    boldness = rng.choice([0.3, 0.3, 0.6, 1.0]) * boldest
    for name, probability, values in others:
        if rng.random() < probability * boldness:
            flags[name] = rng.choice(values)
    return flags


def main():
    seed, count = (int(arg) for arg in sys.argv[1:3])
    rng = random.Random(seed)
    wide = (WIDE_ALGORITHMS, OTHERS + WIDE_OTHERS, 1.3) if sys.argv[3:] == ["wide"] else ()
    for _ in range(count):
        print(json.dumps(assignment(rng, *wide), separators=(",", ":")))


if __name__ == "__main__":
    main()
