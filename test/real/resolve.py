"""Asks SGLang 0.5.23's own argument code what it makes of flag combinations; starts no server.

`resolve.py MODE MODEL_DIR < ASSIGNMENTS.jsonl > OUTCOMES.jsonl`, both one JSON value per line.
MODE is `cpu`, `sm90`, `sm100` or `sm120`: but for the first the probes of torch.cuda are mocked as eight
H100, B200 or RTX PRO 6000. The value MODEL stands for MODEL_DIR. Assignment: {"flag": value}, true for a flag without a value. Outcome:
{"ok": true, "effective": {field: value}} or {"ok": false, "error": "Type: message", "where": "file:line"}.
"""

import contextlib
import io
import json
import logging
import os
import sys
import traceback
import types
import warnings

FIELDS = """
attention_backend page_size chunked_prefill_size max_running_requests schedule_policy
schedule_conservativeness disable_radix_cache disable_overlap_schedule enable_mixed_chunk
enable_priority_scheduling retraction_policy kv_cache_dtype num_continuous_decode_steps
speculative_algorithm speculative_num_steps speculative_eagle_topk speculative_num_draft_tokens
speculative_adaptive speculative_use_rejection_sampling
mamba_radix_cache_strategy mamba_track_interval mamba_ssm_dtype max_mamba_cache_size
linear_attn_backend linear_attn_decode_backend
prefill_attention_backend decode_attention_backend tp_size pp_size attn_dp_size ep_size
speculative_ngram_max_bfs_breadth speculative_attention_mode enable_multi_layer_eagle
enable_hierarchical_cache enable_deterministic_inference radix_eviction_policy stream_interval
max_prefill_tokens enable_two_batch_overlap mamba_full_memory_ratio
enable_linear_replayssm enable_linear_replayssm_spec enable_torch_compile disable_cuda_graph_padding
""".split()

GPUS = {
    "sm90": ((9, 0), "NVIDIA H100 80GB HBM3", 80),
    "sm100": ((10, 0), "NVIDIA B200", 180),
    "sm120": ((12, 0), "NVIDIA RTX PRO 6000 Blackwell Workstation Edition", 96),
}


def mock_cuda(mode):
    """Makes torch.cuda look like eight GPUs. SGLang's own resolution code is untouched."""
    import torch

    capability, name, memory_gib = GPUS[mode]
    properties = types.SimpleNamespace(
        total_memory=memory_gib * 2**30,
        multi_processor_count=132,
        major=capability[0],
        minor=capability[1],
        name=name,
        shared_memory_per_block_optin=232448,
        gcnArchName="",
        warp_size=32,
        L2_cache_size=50 << 20,
        shared_memory_per_multiprocessor=233472,
        max_threads_per_multi_processor=2048,
        regs_per_multiprocessor=65536,
        uuid="0",
    )
    answers = {
        "is_available": True,
        "device_count": 8,
        "current_device": 0,
        "set_device": None,
        "get_device_capability": capability,
        "get_device_name": name,
        "get_device_properties": properties,
        "mem_get_info": ((memory_gib - 1) * 2**30, memory_gib * 2**30),
        "_lazy_init": None,
        "empty_cache": None,
    }
    for probe, answer in answers.items():
        setattr(torch.cuda, probe, lambda *a, _answer=answer, **k: _answer)
    import sglang.srt.utils.common as common

    for probe in ("get_device_memory_capacity", "get_nvgpu_memory_capacity"):
        if hasattr(common, probe):
            setattr(common, probe, lambda *a, **k: memory_gib * 1024)


def patch_memory_probe(mode):
    """The probe is imported by name into other modules; replace it there, too."""
    memory_mib = GPUS[mode][2] * 1024
    for module in list(sys.modules.values()):
        if getattr(module, "__name__", "").startswith("sglang") and hasattr(
            module, "get_device_memory_capacity"
        ):
            module.get_device_memory_capacity = lambda *a, **k: memory_mib


def words(assignment, model):
    for flag, value in assignment.items():
        if value == "MODEL":
            value = model
        if value is None or value is False:
            continue
        yield f"--{flag}"
        if isinstance(value, list):
            yield from (str(v) for v in value)
        elif value is not True:
            yield str(value)


def plain(value):
    return value if isinstance(value, (int, float, str, bool, type(None), list)) else str(value)


def resolve(prepare_server_args, base, assignment):
    stderr = io.StringIO()
    try:
        with contextlib.redirect_stderr(stderr), contextlib.redirect_stdout(stderr):
            args = prepare_server_args([*base, *words(assignment, base[1])])
            args.resolve_once()
            args.check_server_args()
        resolved = args.resolved_dict()
        effective = {field: plain(resolved.get(field)) for field in FIELDS}
        decode = resolved["cuda_graph_config"]["decode"]
        effective["decode_graph_backend"] = decode["backend"]
        effective["decode_graph_max_bs"] = decode["max_bs"]
        return {"ok": True, "effective": effective}
    except SystemExit:
        lines = stderr.getvalue().strip().splitlines()
        return {"ok": False, "error": (lines or [""])[-1], "where": "argparse"}
    except Exception as error:
        frame = traceback.extract_tb(error.__traceback__)[-1]
        where = f"{os.path.basename(frame.filename)}:{frame.lineno}"
        return {"ok": False, "error": f"{type(error).__name__}: {error}"[:160], "where": where}


def main():
    mode, model = sys.argv[1:3]
    os.environ["HF_HUB_OFFLINE"] = "1"
    warnings.simplefilter("ignore")
    if mode == "cpu":
        os.environ["SGLANG_USE_CPU_ENGINE"] = "1"
    else:
        os.environ["NIGHTSWEEP_MOCK_CUDA"] = "1"
        mock_cuda(mode)
    from sglang.srt.server_args import prepare_server_args

    import sglang.srt.arg_groups.memory_hook  # noqa: F401

    if mode != "cpu":
        patch_memory_probe(mode)
    logging.disable(logging.WARNING)
    device = ["--device", "cpu" if mode == "cpu" else "cuda"]
    base = ["--model-path", model, "--load-format", "dummy", *device]
    for line in sys.stdin:
        outcome = resolve(prepare_server_args, base, json.loads(line))
        print(json.dumps(outcome, separators=(",", ":")), flush=True)


if __name__ == "__main__":
    main()
