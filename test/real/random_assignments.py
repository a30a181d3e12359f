"""Prints random flag combinations, one JSON object per line: `random_assignments.py SEED COUNT`.

Speculative, scheduling, graph and mamba flags, with values on both sides of SGLang's rules. Most
combinations keep to the usual shape, as a user's study would; the rest breaks it on purpose, so
that legal, rewritten and refused combinations are all frequent.
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


def assignment(rng):
    flags = {}
    has_algorithm = rng.random() < 0.55
    if has_algorithm:
        flags["speculative-algorithm"] = rng.choice(ALGORITHMS)
    if has_algorithm or rng.random() < 0.08:
        flags.update(speculative(rng))
    # A quarter of the others' probability in the usual case, all of it in the rest.
    boldness = rng.choice([0.3, 0.3, 0.6, 1.0])
    for name, probability, values in OTHERS:
        if rng.random() < probability * boldness:
            flags[name] = rng.choice(values)
    return flags


def main():
    seed, count = (int(arg) for arg in sys.argv[1:3])
    rng = random.Random(seed)
    for _ in range(count):
        print(json.dumps(assignment(rng), separators=(",", ":")))


if __name__ == "__main__":
    main()
