#!/usr/bin/env python3
"""Trains the model on one CPU core and writes its weights: train.py [--steps N] [--corpus FILE.deb] WEIGHTS.safetensors

Needs torch (scripts/peers.sh torch installs it into build/peers) and, for the text, Debian's apt-get and dpkg-deb.
The same seed, version of torch and kind of CPU give the same weights.

SPDX-License-Identifier: Apache-2.0
"""

import argparse
import math
import pathlib
import time

import corpus
import model
import torch
from torch.nn import functional

SEED = 1811
BATCH = 8
HELD_OUT = 20_000  # bytes at the end of every novel, for the validation loss
MUON_RATE = 0.02
ADAM_RATE = 4e-3
WARMUP = 50
VALIDATE_EVERY = 100


def unigram_entropy(text: torch.Tensor) -> float:
    share = torch.bincount(text.long(), minlength=256).double() / len(text)
    share = share[share > 0]
    return float(-(share * share.log()).sum())


def sample(text: torch.Tensor, length: int, generator: torch.Generator):
    starts = torch.randint(len(text) - length, (BATCH,), generator=generator)
    rows = torch.stack([text[s : s + length + 1] for s in starts]).long()
    return rows[:, :-1], rows[:, 1:]


def loss_of(network, inputs, targets):
    return functional.cross_entropy(network(inputs).flatten(0, 1), targets.flatten())


@torch.inference_mode()
def validation_loss(network, text: torch.Tensor, length: int) -> float:
    rows = text[: len(text) // (length + 1) * (length + 1)].view(-1, length + 1)[::12].long()
    losses = [loss_of(network, r[:, :-1], r[:, 1:]) * len(r) for r in rows.split(BATCH)]
    return float(sum(losses)) / len(rows)


@torch.inference_mode()
def greedy(network, prompt: bytes, count: int) -> str:
    tokens = list(prompt)
    for _ in range(count):
        tokens.append(int(network(torch.tensor([tokens]))[0, -1].argmax()))
    return bytes(tokens).decode("ascii", errors="replace")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("weights", type=pathlib.Path)
    parser.add_argument("--steps", type=int, default=1200)
    parser.add_argument("--corpus", type=pathlib.Path, help=f"{corpus.PACKAGE}'s .deb; default: apt-get download")
    options = parser.parse_args()

    torch.set_num_threads(1)
    torch.manual_seed(SEED)
    generator = torch.Generator().manual_seed(SEED)

    texts = [torch.frombuffer(bytearray(t), dtype=torch.uint8) for t in corpus.novels(options.corpus)]
    train = torch.cat([t[:-HELD_OUT] for t in texts])
    held_out = torch.cat([t[-HELD_OUT:] for t in texts])
    network = model.ByteModel(model.Config())
    length = network.config.trained_length
    count = sum(p.numel() for p in network.parameters())
    print(f"{count} parameters, {len(train)} bytes to learn, {len(held_out)} held out; torch {torch.__version__}")
    print(f"entropy of single bytes {unigram_entropy(held_out):.3f} nats, of even guesses {math.log(256):.3f}")

    # Matrices inside the layers by Muon, the embedding and the norms by AdamW.
    inner = [p for layer in network.layers for p in layer.parameters() if p.ndim == 2]
    chosen = {id(p) for p in inner}
    others = [p for p in network.parameters() if id(p) not in chosen]
    optimizers = [
        torch.optim.Muon(inner, lr=MUON_RATE, momentum=0.95, weight_decay=0.01),
        torch.optim.AdamW(others, lr=ADAM_RATE, betas=(0.9, 0.95), weight_decay=0.0),
    ]

    def rate(step: int) -> float:
        falling = (options.steps - step) / (0.6 * options.steps)
        return min(1, (step + 1) / WARMUP, falling)

    schedules = [torch.optim.lr_scheduler.LambdaLR(o, rate) for o in optimizers]

    start = time.monotonic()
    smoothed = None
    for step in range(options.steps):
        loss = loss_of(network, *sample(train, length, generator))
        for optimizer in optimizers:
            optimizer.zero_grad(set_to_none=True)
        loss.backward()
        for optimizer, schedule in zip(optimizers, schedules):
            optimizer.step()
            schedule.step()
        now = loss.item()
        smoothed = now if smoothed is None else 0.95 * smoothed + 0.05 * now
        if (step + 1) % VALIDATE_EVERY == 0 or step + 1 == options.steps:
            held = validation_loss(network, held_out, length)
            seconds = time.monotonic() - start
            print(f"step {step + 1:5}  training {smoothed:.3f}  held out {held:.3f} nats  {seconds:.0f} s", flush=True)

    model.save(network, options.weights)
    rounded = model.load(options.weights)  # what the program will see: bf16
    print(f"held out, weights in bf16: {validation_loss(rounded, held_out, length):.3f} nats")
    print(greedy(rounded, b"It was the", 150))


if __name__ == "__main__":
    main()
