"""Makes a tiny Llama with random weights and its tokenizer, for a real server that needs no download.

usage: tiny_model.py FOLDER
"""

import json
import pathlib
import sys
import sysconfig

import torch
from tokenizers import Tokenizer, decoders, models, pre_tokenizers, trainers
from transformers import LlamaConfig, LlamaForCausalLM, PreTrainedTokenizerFast

SPECIAL = ["<s>", "</s>", "<|user|>", "<|assistant|>"]
TEMPLATE = (
    "{{ bos_token }}{% for message in messages %}"
    "{{ '<|' + message['role'] + '|>' + message['content'] }}{% endfor %}"
    "{% if add_generation_prompt %}{{ '<|assistant|>' }}{% endif %}"
)


def make_tokenizer():
    """A byte-level BPE tokenizer of 2,048 entries, trained on the standard library's sources."""
    tokenizer = Tokenizer(models.BPE())
    tokenizer.pre_tokenizer = pre_tokenizers.ByteLevel(add_prefix_space=False)
    tokenizer.decoder = decoders.ByteLevel()
    sources = sorted(pathlib.Path(sysconfig.get_path("stdlib")).glob("*.py"))
    trainer = trainers.BpeTrainer(
        vocab_size=2048,
        special_tokens=SPECIAL,
        initial_alphabet=pre_tokenizers.ByteLevel.alphabet(),
        show_progress=False,
    )
    tokenizer.train([str(path) for path in sources], trainer)
    fast = PreTrainedTokenizerFast(
        tokenizer_object=tokenizer, bos_token="<s>", eos_token="</s>",
        additional_special_tokens=SPECIAL[2:],
    )
    fast.chat_template = TEMPLATE
    return fast


def make_model(tokenizer):
    """Two layers of random weights: quick to run, and the same on every machine."""
    torch.manual_seed(0)
    config = LlamaConfig(
        vocab_size=2048, hidden_size=128, intermediate_size=256, num_hidden_layers=2,
        num_attention_heads=2, num_key_value_heads=2, max_position_embeddings=8192,
        bos_token_id=tokenizer.bos_token_id, eos_token_id=tokenizer.eos_token_id,
    )
    return LlamaForCausalLM(config).to(torch.bfloat16)


def main():
    folder = pathlib.Path(sys.argv[1])
    folder.mkdir(parents=True)
    tokenizer = make_tokenizer()
    tokenizer.save_pretrained(folder)
    make_model(tokenizer).save_pretrained(folder)
    print(json.dumps({"model": str(folder), "vocabulary": len(tokenizer)}))


main()
