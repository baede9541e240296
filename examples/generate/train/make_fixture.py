#!/usr/bin/env python3
"""Writes what PyTorch generates from the trained weights: make_fixture.py WEIGHTS.safetensors > FIXTURE.json

Greedy, in float64, from the whole text at every step: no cache, so none can be wrong. Needs torch.

SPDX-License-Identifier: Apache-2.0
"""

import json
import pathlib
import sys

import model
import torch

LONG = (
    b"Elizabeth had been a good deal disappointed in not finding a letter from Jane on their first arrival at Lambton; and "
    b"this disappointment had been renewed on each of the mornings that had now been spent there; but on the third her "
    b"repining was over, and her sister justified, by the receipt of two letters from her at once. "
)
CASES = [
    # prompt, tokens, window, sinks
    (b"It was the", 96, 0, 0),
    ("Café\n".encode(), 64, 0, 0),
    (b"T", 64, 0, 0),
    (LONG, 48, 0, 0),
    (LONG, 64, 64, 4),
    (b"\"My dear Mr. Bennet,\" said his lady to him one day,", 128, 40, 4),
    (LONG, 32, 33, 0),
]


def next_logits(network, tokens, window, sinks):
    mask = model.visible(len(tokens), window, sinks)
    return network(torch.tensor([tokens]), mask)[0, -1]


@torch.inference_mode()
def main() -> None:
    torch.set_num_threads(1)
    exact = model.load(pathlib.Path(sys.argv[1])).double().eval()
    single = model.load(pathlib.Path(sys.argv[1])).eval()
    rows, worst = [], 0.0
    for prompt, count, window, sinks in CASES:
        tokens, steps, logits, margin = list(prompt), [0, count // 2, count - 1], [], float("inf")
        for step in range(count):
            found = next_logits(exact, tokens, window, sinks)
            best = found.topk(2).values
            margin = min(margin, float(best[0] - best[1]))
            if step in steps:
                logits.append([float(f"{x:.8g}") for x in found.tolist()])
                worst = max(worst, float((next_logits(single, tokens, window, sinks).double() - found).abs().max()))
            tokens.append(int(found.argmax()))
        rows.append(
            {
                "prompt": list(prompt),
                "window": window,
                "sinks": sinks,
                "tokens": tokens[len(prompt) :],
                "steps": steps,
                "logits": logits,
                "margin": margin,
            }
        )
        print(bytes(tokens).decode("utf-8", errors="replace"), "| margin", margin, file=sys.stderr)
    origin = f"PyTorch {torch.__version__} float64 without a cache; its float32 logits are within {worst:.2g} of these"
    json.dump({"origin": origin, "cases": rows}, sys.stdout, separators=(",", ":"))
    print()


if __name__ == "__main__":
    main()
