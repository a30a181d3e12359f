"""Writes the models that the checks on real servers run with: random weights, ASCII vocabulary.

`make_models.py DIR` makes DIR/qwen3 (configuration and tokenizer for SGLang, whose weights come
from `--load-format dummy`), DIR/qwen3.5, DIR/llama and DIR/deepseek-v3 (the same for a hybrid mixture
of experts, a plain transformer and one with latent attention; their flags can be resolved, only
qwen3 runs on a CPU) and DIR/llama.gguf (for llama-server, same tokenizer).
"""

import json
import sys
from pathlib import Path

import gguf
import numpy as np
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers

CONTEXT = 4096
SPECIAL = ["<|endoftext|>", "<|im_start|>", "<|im_end|>"]
CHAT = (
    "{% for m in messages %}<|im_start|>{{ m['role'] }}\n{{ m['content'] }}<|im_end|>\n{% endfor %}"
    "{% if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
)
TEXTS = [
    "for row in table: total += row.price * row.count  # sum of the order",
    "A server answers many requests at once, and each waits for its turn.",
    '{"name": "night", "sweep": [1, 4, 16], "done": false}',
    "When the moon was up, the watchman counted the lamps along the wall.",
]


def tokenizer():
    """Byte-level BPE over printable ASCII only, so that every random token is printable text."""
    tok = Tokenizer(models.BPE())
    tok.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tok.decoder = decoders.ByteLevel()
    alphabet = [chr(c) for c in range(33, 127)] + ["\u0120", "\u010a"]
    trainer = trainers.BpeTrainer(
        vocab_size=384, special_tokens=SPECIAL, initial_alphabet=alphabet, show_progress=False
    )
    tok.train_from_iterator(TEXTS * 20, trainer)
    return tok


def write_json(path, value):
    path.write_text(json.dumps(value, indent=1))


def write_qwen3(folder, tok):
    folder.mkdir(parents=True, exist_ok=True)
    tok.save(str(folder / "tokenizer.json"))
    ids = {"bos_token_id": 0, "eos_token_id": 2, "pad_token_id": 0}
    config = {
        "architectures": ["Qwen3ForCausalLM"],
        "model_type": "qwen3",
        "hidden_size": 64,
        "intermediate_size": 128,
        "num_hidden_layers": 2,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        # 16 is refused: SGLang's rotary embedding then wants a kernel of another package.
        "head_dim": 32,
        "vocab_size": tok.get_vocab_size(),
        "max_position_embeddings": CONTEXT,
        "hidden_act": "silu",
        "rms_norm_eps": 1e-6,
        "rope_theta": 10000.0,
        "tie_word_embeddings": False,
        "attention_bias": False,
        "torch_dtype": "float32",
    }
    write_json(folder / "config.json", config | ids)
    write_json(folder / "generation_config.json", ids)
    added = {
        str(i): {
            "content": text,
            "special": True,
            "lstrip": False,
            "rstrip": False,
            "normalized": False,
            "single_word": False,
        }
        for i, text in enumerate(SPECIAL)
    }
    write_json(
        folder / "tokenizer_config.json",
        {
            "tokenizer_class": "PreTrainedTokenizerFast",
            "model_max_length": CONTEXT,
            "bos_token": SPECIAL[0],
            "eos_token": SPECIAL[2],
            "pad_token": SPECIAL[0],
            "added_tokens_decoder": added,
            "chat_template": CHAT,
        },
    )


def write_qwen35(folder, tok):
    """A small Qwen3.5: linear attention in three of four layers, experts, a draft layer (MTP)."""
    write_qwen3(folder, tok)
    text = {
        "model_type": "qwen3_5_moe_text",
        "hidden_size": 64,
        "num_hidden_layers": 4,
        "num_attention_heads": 4,
        "num_key_value_heads": 2,
        "head_dim": 32,
        "vocab_size": tok.get_vocab_size(),
        "max_position_embeddings": CONTEXT,
        "full_attention_interval": 4,
        "layer_types": ["linear_attention"] * 3 + ["full_attention"],
        "linear_num_key_heads": 2,
        "linear_num_value_heads": 4,
        "linear_key_head_dim": 32,
        "linear_value_head_dim": 32,
        "linear_conv_kernel_dim": 4,
        "num_experts": 8,
        "num_experts_per_tok": 2,
        "moe_intermediate_size": 32,
        "shared_expert_intermediate_size": 32,
        "mtp_num_hidden_layers": 1,
        "rms_norm_eps": 1e-6,
        "torch_dtype": "bfloat16",
    }
    vision = {
        "model_type": "qwen3_5_moe",
        "depth": 1,
        "hidden_size": 32,
        "num_heads": 2,
        "intermediate_size": 64,
        "out_hidden_size": 64,
        "patch_size": 16,
        "spatial_merge_size": 2,
        "temporal_patch_size": 2,
        "num_position_embeddings": 64,
    }
    config = {
        "architectures": ["Qwen3_5MoeForConditionalGeneration"],
        "model_type": "qwen3_5_moe",
        "text_config": text,
        "vision_config": vision,
        "torch_dtype": "bfloat16",
        "bos_token_id": 0,
        "eos_token_id": 2,
    }
    write_json(folder / "config.json", config)


def change_config(folder, **changes):
    config = json.loads((folder / "config.json").read_text())
    write_json(folder / "config.json", config | changes)


def write_llama_config(folder, tok):
    write_qwen3(folder, tok)
    change_config(folder, architectures=["LlamaForCausalLM"], model_type="llama")


def write_deepseek(folder, tok):
    """A small DeepSeek-V3: latent attention (MLA), experts behind one dense layer."""
    write_qwen3(folder, tok)
    change_config(
        folder,
        architectures=["DeepseekV3ForCausalLM"],
        model_type="deepseek_v3",
        num_key_value_heads=4,
        q_lora_rank=32,
        kv_lora_rank=512,
        qk_nope_head_dim=128,
        qk_rope_head_dim=64,
        v_head_dim=128,
        n_routed_experts=8,
        n_shared_experts=1,
        num_experts_per_tok=2,
        n_group=1,
        topk_group=1,
        first_k_dense_replace=1,
        moe_intermediate_size=32,
        num_nextn_predict_layers=1,
        torch_dtype="bfloat16",
    )


def write_llama(path, tok):
    width, inner, layers, heads, kv_heads, head = 64, 128, 2, 4, 2, 16
    data = json.loads(tok.to_str())
    vocab = sorted(data["model"]["vocab"].items(), key=lambda item: item[1])
    merges = [m if isinstance(m, str) else " ".join(m) for m in data["model"]["merges"]]
    out = gguf.GGUFWriter(str(path), "llama")
    out.add_name("random-llama")
    out.add_context_length(CONTEXT)
    out.add_embedding_length(width)
    out.add_block_count(layers)
    out.add_feed_forward_length(inner)
    out.add_head_count(heads)
    out.add_head_count_kv(kv_heads)
    out.add_rope_dimension_count(head)
    out.add_layer_norm_rms_eps(1e-5)
    out.add_vocab_size(len(vocab))
    out.add_file_type(gguf.LlamaFileType.ALL_F32)
    out.add_tokenizer_model("gpt2")
    out.add_tokenizer_pre("gpt-2")
    out.add_token_list([text for text, _ in vocab])
    out.add_token_merges(merges)
    special = set(range(len(SPECIAL)))
    kinds = (gguf.TokenType.NORMAL, gguf.TokenType.CONTROL)
    out.add_token_types([kinds[i in special] for _, i in vocab])
    out.add_bos_token_id(0)
    out.add_eos_token_id(2)
    out.add_pad_token_id(0)
    out.add_add_bos_token(False)
    out.add_chat_template(CHAT)

    random = np.random.default_rng(7)

    def weight(name, *shape, scale=0.05):
        out.add_tensor(name, (random.standard_normal(shape) * scale).astype(np.float32))

    def ones(name):
        out.add_tensor(name, np.ones(width, np.float32))

    weight("token_embd.weight", len(vocab), width, scale=1.0)
    for layer in range(layers):
        block = f"blk.{layer}."
        ones(block + "attn_norm.weight")
        ones(block + "ffn_norm.weight")
        weight(block + "attn_q.weight", heads * head, width)
        weight(block + "attn_k.weight", kv_heads * head, width)
        weight(block + "attn_v.weight", kv_heads * head, width)
        weight(block + "attn_output.weight", width, heads * head)
        weight(block + "ffn_gate.weight", inner, width)
        weight(block + "ffn_up.weight", inner, width)
        weight(block + "ffn_down.weight", width, inner)
    ones("output_norm.weight")
    weight("output.weight", len(vocab), width, scale=0.3)
    out.write_header_to_file()
    out.write_kv_data_to_file()
    out.write_tensors_to_file()
    out.close()


if __name__ == "__main__":
    target = Path(sys.argv[1])
    tok = tokenizer()
    write_qwen3(target / "qwen3", tok)
    write_qwen35(target / "qwen3.5", tok)
    write_llama_config(target / "llama", tok)
    write_deepseek(target / "deepseek-v3", tok)
    write_llama(target / "llama.gguf", tok)
