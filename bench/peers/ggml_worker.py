# SPDX-License-Identifier: Apache-2.0
"""ggml's flash attention on the CPU (llama.cpp's), through its C interface. Queries are f32 there, keys and values of the
case's type, the result f32. Masks are arrays of every pair, as llama.cpp passes them; they are made beforehand."""

import ctypes
import pathlib
import sys

from peer import Cannot, serve

TYPES = {"f32": 0, "f16": 1, "bf16": 30}  # enum ggml_type
MOST_THREADS = 512  # GGML_MAX_N_THREADS


class InitParams(ctypes.Structure):
    _fields_ = [("mem_size", ctypes.c_size_t), ("mem_buffer", ctypes.c_void_p), ("no_alloc", ctypes.c_bool)]


class ThreadpoolParams(ctypes.Structure):
    _fields_ = [
        ("cpumask", ctypes.c_bool * MOST_THREADS),
        ("n_threads", ctypes.c_int),
        ("prio", ctypes.c_int),
        ("poll", ctypes.c_uint32),
        ("strict_cpu", ctypes.c_bool),
        ("paused", ctypes.c_bool),
    ]


class Plan(ctypes.Structure):
    _fields_ = [
        ("work_size", ctypes.c_size_t),
        ("work_data", ctypes.c_void_p),
        ("n_threads", ctypes.c_int),
        ("threadpool", ctypes.c_void_p),
        ("abort_callback", ctypes.c_void_p),
        ("abort_callback_data", ctypes.c_void_p),
        ("use_ref", ctypes.c_bool),
    ]


def load():
    folder = pathlib.Path(sys.prefix) / "lib" / "ggml"
    try:
        base = ctypes.CDLL(str(folder / "libggml-base.so"), mode=ctypes.RTLD_GLOBAL)
        cpu = ctypes.CDLL(str(folder / "libggml-cpu.so"))
    except OSError as error:
        raise ImportError(f"{error}; bash scripts/peers.sh ggml builds it") from error
    pointer, size, number = ctypes.c_void_p, ctypes.c_size_t, ctypes.c_float
    base.ggml_version.restype = ctypes.c_char_p
    base.ggml_init.argtypes, base.ggml_init.restype = [InitParams], pointer
    base.ggml_free.argtypes = [pointer]
    base.ggml_new_tensor_4d.argtypes = [pointer, ctypes.c_int] + [ctypes.c_int64] * 4
    base.ggml_new_tensor_4d.restype = pointer
    base.ggml_get_data.argtypes, base.ggml_get_data.restype = [pointer], pointer
    base.ggml_nbytes.argtypes, base.ggml_nbytes.restype = [pointer], size
    base.ggml_flash_attn_ext.argtypes = [pointer] * 5 + [number] * 3
    base.ggml_flash_attn_ext.restype = pointer
    base.ggml_new_graph.argtypes, base.ggml_new_graph.restype = [pointer], pointer
    base.ggml_build_forward_expand.argtypes = [pointer, pointer]
    base.ggml_threadpool_params_init.argtypes = [ctypes.POINTER(ThreadpoolParams), ctypes.c_int]
    cpu.ggml_threadpool_new.argtypes = [ctypes.POINTER(ThreadpoolParams)]
    cpu.ggml_threadpool_new.restype = pointer
    cpu.ggml_graph_plan.argtypes, cpu.ggml_graph_plan.restype = [pointer, ctypes.c_int, pointer], Plan
    cpu.ggml_graph_compute.argtypes = [pointer, ctypes.POINTER(Plan)]
    cpu.ggml_cpu_init()
    return base, cpu


class Ggml:
    def __init__(self, threads):
        import numpy

        self.numpy, self.threads = numpy, threads
        self.base, self.cpu = load()
        parameters = ThreadpoolParams()
        self.base.ggml_threadpool_params_init(ctypes.byref(parameters), threads)
        self.pool = self.cpu.ggml_threadpool_new(ctypes.byref(parameters))
        self.context = self.graph = self.plan = self.work = self.result = None

    def array(self, tensor, dtype, shape):
        """The memory of a tensor, slowest axis first."""
        size = self.base.ggml_nbytes(tensor)
        memory = (ctypes.c_char * size).from_address(self.base.ggml_get_data(tensor))
        return self.numpy.frombuffer(memory, dtype).reshape(shape)

    def stored(self, case, offset, shape):
        np = self.numpy
        dtype = {"f32": np.float32, "f16": np.float16, "bf16": np.uint16}[case.dtype]
        count = int(np.prod(shape))
        return np.frombuffer(case.memory, dtype, count, offset).reshape(shape)

    def widened(self, case, array):
        np = self.numpy
        if case.dtype == "bf16":
            return (array.astype(np.uint32) << 16).view(np.float32)
        return array.astype(np.float32)

    def visible(self, case):
        np = self.numpy
        if case.variant == "full":
            return None
        q = np.arange(case.sq)[:, None] + case.skv - case.sq
        k = np.arange(case.skv)[None, :]
        values = case.parameters
        if case.variant in ("causal", "softcapped"):
            return k <= q
        if case.variant in ("causal_window", "softcapped_window"):
            return (k <= q) & (q - k < values["window"])
        if case.variant == "global_window":
            return (k <= q) & ((q - k < values["window"]) | (k < values["global"]))
        raise Cannot("its masks are not written down for this variant (bench/peers/ggml_worker.py)")

    def prepare(self, case):
        np, base = self.numpy, self.base
        visible = self.visible(case)
        shapes = (
            (case.b, case.hq, case.sq, case.d_qk),
            (case.b, case.hkv, case.skv, case.d_qk),
            (case.b, case.hkv, case.skv, case.d_v),
            (case.b, case.sq, case.hq, case.d_v),
        )
        bytes_needed = sum(4 * int(np.prod(s)) for s in shapes) + 2 * case.sq * case.skv + (1 << 20)
        if self.context:
            base.ggml_free(self.context)
        self.context = base.ggml_init(InitParams(bytes_needed, None, False))

        def tensor(dtype, shape):
            return base.ggml_new_tensor_4d(self.context, TYPES[dtype], *reversed(shape))

        q = tensor("f32", shapes[0])
        self.array(q, np.float32, shapes[0])[...] = self.widened(case, self.stored(case, case.q, shapes[0]))
        kv = []
        for offset, shape in ((case.k, shapes[1]), (case.v, shapes[2])):
            values = self.stored(case, offset, shape)
            kv.append(tensor(case.dtype, shape))
            self.array(kv[-1], values.dtype, shape)[...] = values
        mask = None
        if visible is not None:
            mask = tensor("f16", (1, 1, case.sq, case.skv))
            self.array(mask, np.float16, (case.sq, case.skv))[...] = np.where(visible, 0, -np.inf)
        softcap = float(case.parameters.get("softcap", 0))
        self.result = base.ggml_flash_attn_ext(self.context, q, kv[0], kv[1], mask, case.scale, 0.0, softcap)
        self.graph = base.ggml_new_graph(self.context)
        base.ggml_build_forward_expand(self.graph, self.result)
        self.plan = self.cpu.ggml_graph_plan(self.graph, self.threads, self.pool)
        self.work = np.empty(self.plan.work_size + 64, np.uint8)
        self.plan.work_data = self.work.ctypes.data + -self.work.ctypes.data % 64
        return {"version": f"ggml {base.ggml_version().decode()}", "notes": "mask as an array" if mask else ""}

    def run(self):
        status = self.cpu.ggml_graph_compute(self.graph, ctypes.byref(self.plan))
        if status != 0:
            raise RuntimeError(f"ggml_graph_compute gave {status}")

    def output(self, case):
        np = self.numpy
        out = self.array(self.result, np.float32, (case.b, case.sq, case.hq, case.d_v)).transpose(0, 2, 1, 3)
        if case.dtype == "bf16":
            bits = np.ascontiguousarray(out).view(np.uint32)
            out = ((bits + 0x7FFF + ((bits >> 16) & 1)) >> 16).astype(np.uint16)
        self.stored(case, case.out, out.shape)[...] = out


serve(Ggml)
