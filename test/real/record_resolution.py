"""Records what SGLang 0.5.23 makes of ten thousand random flag combinations.

`record_resolution.py SEED OUT.jsonl.gz [wide]`, run with the interpreter of test/real/.work/tools. `wide`: more
machines, models, algorithms and flags (random_assignments.py). First line:
version, seed, and per context (mode, model, how many) the effective values without any flag. Then
one line per combination: context, flags, and either the values that differ from those or the error.
"""

import concurrent.futures
import gzip
import json
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
WORK = HERE / ".work"
# Mode, model, combinations: hybrid Qwen3.5 on Hopper, Blackwell and CPU, dense Qwen3 on the CPU.
CONTEXTS = [
    ("sm90", "qwen3.5", 4000),
    ("sm100", "qwen3.5", 2000),
    ("cpu", "qwen3", 2500),
    ("cpu", "qwen3.5", 1500),
]
# Latent attention and plain transformers beside the hybrid one, and workstation Blackwell.
WIDE_CONTEXTS = [
    ("sm120", "qwen3.5", 2500),
    ("sm90", "qwen3.5", 1500),
    ("sm90", "llama", 1500),
    ("sm100", "llama", 1000),
    ("sm90", "deepseek-v3", 1500),
    ("sm120", "qwen3", 1000),
    ("cpu", "llama", 1000),
]


def run(python, script, *args, text=""):
    env = os.environ | {"PYTHONPATH": str(HERE / "shim")}
    command = [str(WORK / python / "bin/python"), str(HERE / script), *map(str, args)]
    done = subprocess.run(command, input=text, env=env, stdout=subprocess.PIPE, text=True, check=True)
    return done.stdout.splitlines()


def record(index, seed, context, kind):
    mode, model, count = context
    flags = run("tools", "random_assignments.py", seed + index, count, *kind)
    # Without the radix cache the hybrid model starts on the CPU, too: the row of no flags.
    first = json.dumps({"disable-radix-cache": True} if (mode, model) == ("cpu", "qwen3.5") else {})
    outcomes = run("sglang", "resolve.py", mode, WORK / "models" / model, text="\n".join([first, *flags]))
    defaults, *rows = (json.loads(line) for line in outcomes)
    return flags, defaults["effective"], rows


def main():
    seed, out, kind = int(sys.argv[1]), sys.argv[2], sys.argv[3:]
    chosen = WIDE_CONTEXTS if kind == ["wide"] else CONTEXTS
    with concurrent.futures.ThreadPoolExecutor(max_workers=2) as pool:
        jobs = [pool.submit(record, i, seed, one, kind) for i, one in enumerate(chosen)]
        recorded = [job.result() for job in jobs]
    contexts = [
        {"mode": mode, "model": model, "count": count, "defaults": defaults}
        for (mode, model, count), (_, defaults, _) in zip(chosen, recorded)
    ]
    lines = [{"sglang": "0.5.23", "seed": seed, "contexts": contexts}]
    for index, (flags, defaults, rows) in enumerate(recorded):
        for asked, row in zip(flags, rows, strict=True):
            line = {"context": index, "flags": json.loads(asked)}
            if row["ok"]:
                differs = {k: v for k, v in row["effective"].items() if v != defaults[k]}
                line["differs"] = differs
            else:
                line["error"] = f"{row['where']} {row['error']}"
            lines.append(line)
    text = "".join(json.dumps(line, separators=(",", ":")) + "\n" for line in lines)
    with open(out, "wb") as raw, gzip.GzipFile(fileobj=raw, mode="wb", mtime=0, filename="") as packed:
        packed.write(text.encode())


if __name__ == "__main__":
    main()
