#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Writes chat_golden.json: random conversations, the ids that transformers' apply_chat_template() gives them, and
the tokenizers/ of those ids: those of ../tokenizer/foreign with the specials of chats.

    pip install transformers==5.23.0 tokenizers==0.23.3
    python3 tests/data/chat/make_chat_golden.py FOLDER

FOLDER has the published templates NAME.jinja, which are no part of weft. SHA256 has their sums: the wheel of trl 1.16.0 has
six of them, the others are the member chat_template of tokenizer_config.json of the models.
"""
import hashlib
import json
import pathlib
import random
import sys

HERE = pathlib.Path(__file__).parent
FOREIGN = HERE.parent / "tokenizer" / "foreign"
SMOLLM = "You are a helpful AI assistant named SmolLM, trained by Hugging Face"
QWEN = "You are Qwen, created by Alibaba Cloud. You are a helpful assistant."
# The file, its sum, weft's name for it, the system's text that it begins with if there is none, and the tokenizer.
TEMPLATES = [
    ("chatml", "153280e3ff55d19da1398bdb3914ee2a51b80429bfaedde11d7d216c39db80f3", "chatml", "", "qwen"),
    ("smollm2", "de9cde7d1b0ca0cc87459a6673e0d12fb89c070bdb24e4a30b6e4d187b226221", "chatml", SMOLLM, "qwen"),
    ("qwen2_5", "cd8e9439f0570856fd70470bf8889ebd8b5d1107207f67a5efb46e342330527f", "chatml", QWEN, "qwen"),
    ("qwen3", "a55ee1b1660128b7098723e0abcd92caa0788061051c62d51cbe87d9cf1974d8", "qwen3", "", "qwen"),
    ("qwen3_instruct_2507", "64f85b198065d0fba2a81f37e10ed68161ce2c19a754c7100e67e0ca2ee9c326", "chatml", "", "qwen"),
    ("llama3", "ba03a121d097859c7b5b9cd03af99aafe95275210d2876f642ad9929a150f122", "llama3", "", "llama3"),
    ("llama3_1", "e10ca381b1ccc5cf9db52e371f3b6651576caee0a630b452e2816b2d404d4b65", "llama3.1", "", "llama3"),
    ("llama3_2", "5816fce10444e03c2e9ee1ef8a4a1ea61ae7e69e438613f3b17b69d0426223a4", "llama3.1", "", "llama3"),
    ("mistral_v1", "26a59556925c987317ce5291811ba3b7f32ec4c647c400c6cc7e3a9993007ba7", "mistral-v1", "", "mistral1"),
    ("mistral", "e16746b40344d6c5b5265988e0328a0bf7277be86f1c335156eae07e29c82826", "mistral", "", "mistral"),
    ("mistral_nemo", "e4676cb56dffea7782fd3e2b577cfaf1e123537e6ef49b3ec7caa6c095c62272", "mistral-nemo", "", "mistral"),
]
# Of each tokenizer: the file that it extends, its specials, those that stand for themselves in all text, bos and eos.
TOKENIZERS = {
    "qwen": ("qwen2", ["<|im_start|>", "<|im_end|>"], ["<think>", "</think>"], None, "<|im_end|>"),
    "llama3": ("llama3", ["<|begin_of_text|>", "<|start_header_id|>", "<|end_header_id|>", "<|eot_id|>"], [],
               "<|begin_of_text|>", "<|eot_id|>"),
    "mistral": ("mistral", ["[INST]", "[/INST]"], [], "<s>", "</s>"),
    "mistral1": ("mistral", [], [], "<s>", "</s>"),
}
PIECES = ["the old man", "sees", "a boat", " ", "  ", "\n", "\n\n", "\t", ".", "!", "?", "it's", "12345", "b\u00e5t", "\u65e5\u672c",
          "\U0001f600", "e\u0301", "\u00a0", "\u3000", "\u2028", "\x1c", "<think>", "</think>", "<think>\nwell\n</think>\n\n", "user\n",
          "assistant", "```c\nint a;\n```", "<|", "|>", "system", "\u2581"]


def text(pick, most=9):
    return "".join(pick.choice(PIECES) for _ in range(pick.randint(0, most)))


def conversation(pick, alternates):
    """Mistral's templates take users and the assistant in turn, and a system's text at the beginning alone."""
    messages = [{"role": "system", "content": text(pick)}] if pick.random() < 0.4 else []
    for turn in range(pick.randint(1, 6)):
        role = ("user", "assistant")[turn % 2] if alternates or pick.random() < 0.8 else pick.choice(
            ["user", "assistant", "system"])
        messages.append({"role": role, "content": text(pick)})
    return messages


def conversations(count, seed):
    pick = random.Random(seed)
    return [conversation(pick, i % 2 == 0) for i in range(count)]


def fits(name, messages):
    roles = [message["role"] for message in messages]
    body = roles[1:] if roles[0] == "system" else roles
    if name == "mistral_v1" and roles[0] == "system":
        return False
    return not name.startswith("mistral") or body == ["user", "assistant"] * (len(body) // 2) + ["user"] * (len(body) % 2)


def tokenizer_of(name):
    import tokenizers
    import transformers
    base, specials, in_text, bos, eos = TOKENIZERS[name]
    made = tokenizers.Tokenizer.from_file(str(FOREIGN / f"{base}.json"))
    made.add_special_tokens(specials)
    made.add_tokens([tokenizers.AddedToken(word, normalized=False, special=False) for word in in_text])
    return made, transformers.PreTrainedTokenizerFast(tokenizer_object=made, bos_token=bos, eos_token=eos)


def apply(tokenizer, template, messages, prompt):
    options = {"chat_template": template, "add_generation_prompt": prompt, "date_string": "26 Jul 2024"}
    return tokenizer.apply_chat_template(messages, tokenize=True, return_dict=False, **options)


def main():
    folder = pathlib.Path(sys.argv[1])
    chats = conversations(24, 7)
    golden = {"conversations": chats, "templates": {}}
    (HERE / "tokenizers").mkdir(exist_ok=True)
    for name in TOKENIZERS:
        (HERE / "tokenizers" / f"{name}.json").write_text(tokenizer_of(name)[0].to_str())
    for file, sum_, name, system, tokenizer in TEMPLATES:
        template = (folder / f"{file}.jinja").read_text()
        assert hashlib.sha256(template.encode()).hexdigest() == sum_, file
        knows = tokenizer_of(tokenizer)[1]
        cases = []
        for place, messages in enumerate(chats):
            if not fits(file, messages):
                continue
            cases.append({"conversation": place, "ids": apply(knows, template, messages, False),
                          "prompt": apply(knows, template, messages, True)})
        golden["templates"][file] = {"name": name, "system": system, "tokenizer": tokenizer, "sha256": sum_, "cases": cases}
    (HERE / "chat_golden.json").write_text(json.dumps(golden, separators=(",", ":")).replace('},{', '},\n{') + "\n")


if __name__ == "__main__":
    main()
