"""The model in PyTorch: a small Llama over bytes. Shares no code with the C++ program.

Rotary positions turn pairs of features of the two halves; query heads share KV heads in groups; the embedding is also
the output matrix.

SPDX-License-Identifier: Apache-2.0
"""

import dataclasses
import json
import pathlib
import struct

import torch
from torch import nn
from torch.nn import functional


@dataclasses.dataclass(frozen=True)
class Config:
    vocabulary: int = 256
    width: int = 128
    layers: int = 3
    heads: int = 8
    kv_heads: int = 2
    head_dim: int = 32
    hidden: int = 320
    context: int = 1024  # positions that the program makes tables for
    trained_length: int = 256
    rope_base: float = 10000.0
    norm_epsilon: float = 1e-5


def visible(length: int, window: int = 0, sinks: int = 0) -> torch.Tensor:
    """[length, length], True where a query (row) sees a key: causal, the last `window` tokens (0: all) and the first
    `sinks`."""
    q = torch.arange(length)[:, None]
    k = torch.arange(length)[None, :]
    recent = (q - k < window) if window else torch.ones(length, length, dtype=torch.bool)
    return (k <= q) & (recent | (k < sinks))


class Layer(nn.Module):
    def __init__(self, c: Config):
        super().__init__()
        self.config = c
        self.attention_norm = nn.RMSNorm(c.width, eps=c.norm_epsilon)
        self.query_key_value = nn.Linear(c.width, (c.heads + 2 * c.kv_heads) * c.head_dim, bias=False)
        self.attention_out = nn.Linear(c.heads * c.head_dim, c.width, bias=False)
        self.mlp_norm = nn.RMSNorm(c.width, eps=c.norm_epsilon)
        self.gate_up = nn.Linear(c.width, 2 * c.hidden, bias=False)
        self.down = nn.Linear(c.hidden, c.width, bias=False)

    def forward(self, x, cosine, sine, mask):
        c = self.config
        batch, length, _ = x.shape
        rows = self.query_key_value(self.attention_norm(x))
        rows = rows.view(batch, length, c.heads + 2 * c.kv_heads, c.head_dim).transpose(1, 2)
        q, k, v = rows.split([c.heads, c.kv_heads, c.kv_heads], dim=1)

        def turned(row):
            first, second = row.chunk(2, dim=-1)
            return torch.cat([first * cosine - second * sine, second * cosine + first * sine], dim=-1)

        attended = functional.scaled_dot_product_attention(
            turned(q), turned(k), v, attn_mask=mask, is_causal=mask is None, enable_gqa=True
        )
        x = x + self.attention_out(attended.transpose(1, 2).reshape(batch, length, -1))
        gate, up = self.gate_up(self.mlp_norm(x)).chunk(2, dim=-1)
        return x + self.down(functional.silu(gate) * up)


class ByteModel(nn.Module):
    def __init__(self, c: Config):
        super().__init__()
        self.config = c
        self.embedding = nn.Embedding(c.vocabulary, c.width)
        self.layers = nn.ModuleList(Layer(c) for _ in range(c.layers))
        self.norm = nn.RMSNorm(c.width, eps=c.norm_epsilon)
        nn.init.normal_(self.embedding.weight, std=0.02)
        for layer in self.layers:
            for out in (layer.attention_out, layer.down):
                nn.init.normal_(out.weight, std=0.02 / (2 * c.layers) ** 0.5)
        pairs = torch.arange(c.head_dim // 2, dtype=torch.float64)
        frequency = c.rope_base ** (-2 * pairs / c.head_dim)
        self.angles = torch.arange(c.context, dtype=torch.float64)[:, None] * frequency

    def forward(self, tokens, mask=None):
        """tokens [batch, length]; mask as of visible(), None: causal. Logits [batch, length, vocabulary]."""
        x = self.embedding(tokens)
        angles = self.angles[: tokens.shape[1]]
        cosine, sine = angles.cos().to(x.dtype), angles.sin().to(x.dtype)
        for layer in self.layers:
            x = layer(x, cosine, sine, mask)
        return self.norm(x) @ self.embedding.weight.T


def save(model: ByteModel, path: pathlib.Path) -> None:
    """As safetensors, all weights in bf16, the configuration in the header's metadata."""
    header = {"__metadata__": {k: str(v) for k, v in dataclasses.asdict(model.config).items()}}
    data = b""
    for name, weight in model.named_parameters():
        raw = weight.detach().to(torch.bfloat16).contiguous().view(torch.int16).numpy().tobytes()
        header[name] = {"dtype": "BF16", "shape": list(weight.shape), "data_offsets": [len(data), len(data) + len(raw)]}
        data += raw
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    path.write_bytes(struct.pack("<Q", len(text)) + text + data)


def load(path: pathlib.Path) -> ByteModel:
    raw = path.read_bytes()
    (size,) = struct.unpack_from("<Q", raw)
    header = json.loads(raw[8 : 8 + size])
    found = header.pop("__metadata__")
    config = Config(**{f.name: f.type(found[f.name]) for f in dataclasses.fields(Config)})
    model = ByteModel(config)
    state = {}
    for name, entry in header.items():
        begin, end = (8 + size + x for x in entry["data_offsets"])
        weights = torch.frombuffer(bytearray(raw[begin:end]), dtype=torch.bfloat16)
        state[name] = weights.view(entry["shape"]).float()
    model.load_state_dict(state)
    return model
