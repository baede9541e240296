#!/usr/bin/env python3
"""Writes the weights of encoder.onnx and decoder.onnx into one safetensors file, named as in the training code.

The graphs were read by people; the C++ program computes what they say. So that this stays true, the two files must be the
ones that were read, and what of the graph the program relies on is checked again here.

Usage: convert_model.py RESOURCES model.safetensors      needs onnx

SPDX-License-Identifier: Apache-2.0
"""

import hashlib
import json
import pathlib
import struct
import sys

import numpy
import onnx
from onnx import numpy_helper

CHECKSUMS = {
    "encoder.onnx": "f5d65df2189e5ec3929a3167d70de5f1f9eedd89dab964875039089581c5ec49",
    "decoder.onnx": "2365c42d362313c21748750eefebf3a61fd8045f73a98644176eca538200841a",
}


def read(folder, name):
    data = (folder / name).read_bytes()
    found = hashlib.sha256(data).hexdigest()
    if found != CHECKSUMS[name]:
        sys.exit(f"convert_model.py: {folder / name} has the checksum {found}, expected {CHECKSUMS[name]}")
    graph = onnx.load_model_from_string(data).graph
    return graph, {tensor.name: numpy_helper.to_array(tensor) for tensor in graph.initializer}


def reset_first(weights):
    """Gates in the order reset, update, new. ONNX has update, reset, new."""
    update, reset, new = numpy.split(weights, 3)
    return numpy.concatenate([reset, update, new])


def encoder_weights(graph, tensors):
    result = {"embedding.weight": tensors["m.emb.weight"],
              "bridge.weight": tensors["m.bridge.weight"],
              "bridge.bias": tensors["m.bridge.bias"]}
    layers = [node for node in graph.node if node.op_type == "GRU"]
    for layer, node in enumerate(layers):
        attributes = {a.name: onnx.helper.get_attribute_value(a) for a in node.attribute}
        expected = {"direction": b"bidirectional", "hidden_size": 128, "linear_before_reset": 1}
        if attributes != expected:
            sys.exit(f"convert_model.py: GRU {layer} has the attributes {attributes}, expected {expected}")
        inputs, hidden, biases = (tensors[name] for name in node.input[1:4])
        for direction, suffix in enumerate(["", "_reverse"]):
            bias_inputs, bias_hidden = numpy.split(biases[direction], 2)
            name = f"encoder.{{}}_l{layer}{suffix}"
            result[name.format("weight_ih")] = reset_first(inputs[direction])
            result[name.format("weight_hh")] = reset_first(hidden[direction])
            result[name.format("bias_ih")] = reset_first(bias_inputs)
            result[name.format("bias_hh")] = reset_first(bias_hidden)
    return result


def decoder_weights(graph, tensors):
    result = {name.removeprefix("m."): value for name, value in tensors.items() if name.startswith("m.decoder.")}
    for name in ["combine.bias", "out.weight", "out.bias"]:
        result[name] = tensors[f"m.{name}"]
    # Products without a bias hold their weights transposed and under a number.
    for node in graph.node:
        if node.op_type == "MatMul" and node.input[1] in tensors:
            name = {"/attn_q/MatMul_output_0": "attn_q.weight",
                    "/combine/MatMul_output_0": "combine.weight"}[node.output[0]]
            result[name] = tensors[node.input[1]].T
    return result


def write(tensors, path):
    header, data = {}, b""
    for name in sorted(tensors):
        value = numpy.ascontiguousarray(tensors[name], dtype="<f4")
        header[name] = {"dtype": "F32", "shape": list(value.shape),
                        "data_offsets": [len(data), len(data) + value.nbytes]}
        data += value.tobytes()
    text = json.dumps(header, separators=(",", ":")).encode()
    text += b" " * (-len(text) % 8)  # numbers start at a multiple of 8
    # Under another name first: an interrupted run leaves no half file that looks like a whole one.
    part = path.with_suffix(".part")
    part.write_bytes(struct.pack("<Q", len(text)) + text + data)
    part.replace(path)


def main():
    if len(sys.argv) != 3:
        print(__doc__, file=sys.stderr)
        return 2
    folder = pathlib.Path(sys.argv[1])
    encoder = read(folder, "encoder.onnx")
    decoder = read(folder, "decoder.onnx")
    if not numpy.array_equal(encoder[1]["m.emb.weight"], decoder[1]["m.emb.weight"]):
        sys.exit("convert_model.py: encoder and decoder have different embeddings, expected one for both")
    write(encoder_weights(*encoder) | decoder_weights(*decoder), pathlib.Path(sys.argv[2]))
    return 0


if __name__ == "__main__":
    sys.exit(main())
