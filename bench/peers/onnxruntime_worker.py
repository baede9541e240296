# SPDX-License-Identifier: Apache-2.0
"""ONNX Runtime on the CPU: MultiHeadAttention for full attention, GroupQueryAttention for causal attention and windows,
each a model of one node. Inputs and output are bound, so that no call copies them."""

from peer import Cannot, serve


def dense(ort_value):
    return ort_value.numpy()


class OnnxRuntime:
    def __init__(self, threads):
        import numpy
        import onnx
        import onnxruntime

        self.numpy, self.onnx, self.onnxruntime = numpy, onnx, onnxruntime
        self.threads = threads
        self.session = self.binding = self.out = None

    def arrays(self, case):
        np = self.numpy

        def array(offset, heads, rows, d):
            count = case.b * heads * rows * d
            flat = np.frombuffer(case.memory, np.float32, count, offset).reshape(case.b, heads, rows, d)
            # The node takes [batch, row, head * feature].
            return np.ascontiguousarray(flat.transpose(0, 2, 1, 3)).reshape(case.b, rows, heads * d)

        q = array(case.q, case.hq, case.sq, case.d_qk)
        k = array(case.k, case.hkv, case.skv, case.d_qk)
        v = array(case.v, case.hkv, case.skv, case.d_v)
        return q, k, v

    def full(self, case):
        if case.hq != case.hkv:
            raise Cannot("its MultiHeadAttention has no grouped heads")
        q, k, v = self.arrays(case)
        attributes = {"num_heads": case.hq, "scale": case.scale}
        return "MultiHeadAttention", {"query": q, "key": k, "value": v}, attributes, ["out"], {}

    def causal(self, case, window):
        np = self.numpy
        if case.sq not in (1, case.skv):
            raise Cannot("its GroupQueryAttention takes a whole prompt or one token")
        if case.d_qk != case.d_v:
            raise Cannot("its GroupQueryAttention wants d_qk = d_v")
        q, k, v = self.arrays(case)
        # Of a prompt there is no past; else all but the last token are there, in the memory that the node also
        # writes to, as applications share it.
        past_rows = 0 if case.sq == case.skv else case.skv
        past = [
            np.ascontiguousarray(x.reshape(case.b, case.skv, case.hkv, case.d_qk)[:, :past_rows].transpose(0, 2, 1, 3))
            for x in (k, v)
        ]
        inputs = {
            "query": q,
            "key": np.ascontiguousarray(k[:, -case.sq :]),
            "value": np.ascontiguousarray(v[:, -case.sq :]),
            "past_key": past[0],
            "past_value": past[1],
            "seqlens_k": np.full((case.b,), case.skv - 1, np.int32),
            "total_sequence_length": np.array(case.skv, np.int32),
        }
        attributes = {"num_heads": case.hq, "kv_num_heads": case.hkv, "scale": case.scale}
        if window is not None:
            attributes["local_window_size"] = window
        cache = (case.b, case.hkv, case.skv, case.d_qk)
        return (
            "GroupQueryAttention",
            inputs,
            attributes,
            ["out", "present_key", "present_value"],
            {"present_key": cache, "present_value": cache},
        )

    def prepare(self, case):
        np, ort, helper = self.numpy, self.onnxruntime, self.onnx.helper
        if case.dtype != "f32":
            raise Cannot("its CPU attention computes in f32")
        if case.variant == "full":
            node, inputs, attributes, outputs, extra = self.full(case)
        elif case.variant == "causal":
            node, inputs, attributes, outputs, extra = self.causal(case, None)
        elif case.variant == "causal_window":
            node, inputs, attributes, outputs, extra = self.causal(case, int(case.parameters["window"]))
        else:
            raise Cannot("has full and causal attention and causal windows")

        shapes = {"out": (case.b, case.sq, case.hq * case.d_v), **extra}
        to_type = {np.dtype(np.float32): self.onnx.TensorProto.FLOAT, np.dtype(np.int32): self.onnx.TensorProto.INT32}
        graph = helper.make_graph(
            [helper.make_node(node, list(inputs), outputs, domain="com.microsoft", **attributes)],
            "attention",
            [helper.make_tensor_value_info(name, to_type[a.dtype], a.shape) for name, a in inputs.items()],
            [helper.make_tensor_value_info(name, self.onnx.TensorProto.FLOAT, shapes[name]) for name in outputs],
        )
        opsets = [helper.make_opsetid("", 17), helper.make_opsetid("com.microsoft", 1)]
        model = helper.make_model(graph, opset_imports=opsets, ir_version=8)

        options = ort.SessionOptions()
        options.intra_op_num_threads = self.threads
        options.inter_op_num_threads = 1
        options.graph_optimization_level = ort.GraphOptimizationLevel.ORT_ENABLE_ALL
        # Its threads spin during a call, as they do by default, but not after it.
        options.add_session_config_entry("session.force_spinning_stop", "1")
        self.session = ort.InferenceSession(model.SerializeToString(), options, providers=["CPUExecutionProvider"])
        self.binding = self.session.io_binding()
        bound = {name: ort.OrtValue.ortvalue_from_numpy(array) for name, array in inputs.items()}
        for name, value in bound.items():
            self.binding.bind_ortvalue_input(name, value)
        self.inputs = inputs
        self.outputs = {
            name: ort.OrtValue.ortvalue_from_shape_and_type(list(shapes[name]), np.float32) for name in outputs
        }
        if extra and case.sq != case.skv:
            self.outputs["present_key"], self.outputs["present_value"] = bound["past_key"], bound["past_value"]
        for name, value in self.outputs.items():
            self.binding.bind_ortvalue_output(name, value)
        return {"version": f"ONNX Runtime {ort.__version__}", "notes": node}

    def run(self):
        self.session.run_with_iobinding(self.binding)

    def output(self, case):
        np = self.numpy
        result = self.outputs["out"].numpy().reshape(case.b, case.sq, case.hq, case.d_v).transpose(0, 2, 1, 3)
        out = np.frombuffer(case.memory, np.float32, result.size, case.out).reshape(result.shape)
        out[...] = result


serve(OnnxRuntime)
