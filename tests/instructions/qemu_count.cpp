// qemu_count.cpp: a plugin of qemu that counts instructions executed in functions whose names begin
// with prefix=…, and prints the sum at the end. Debian has no header of the interface, and none of
// qemu's own plugins; these are version 1 of it. SPDX-License-Identifier: Apache-2.0
#include <cinttypes>
#include <cstdint>
#include <cstdio>
#include <cstring>

extern "C" {

using PluginId = uint64_t;
struct qemu_plugin_tb;    // a block of translated instructions
struct qemu_plugin_insn;  // one of them

void qemu_plugin_register_vcpu_tb_trans_cb(PluginId id, void (*call)(PluginId, qemu_plugin_tb*));
void qemu_plugin_register_vcpu_tb_exec_inline(qemu_plugin_tb* block, int add, void* counter,
                                              uint64_t by);
void qemu_plugin_register_atexit_cb(PluginId id, void (*call)(PluginId, void*), void* data);
size_t qemu_plugin_tb_n_insns(const qemu_plugin_tb* block);
qemu_plugin_insn* qemu_plugin_tb_get_insn(const qemu_plugin_tb* block, size_t index);
const char* qemu_plugin_insn_symbol(const qemu_plugin_insn* instruction);

extern const int qemu_plugin_version;
const int qemu_plugin_version = 1;
int qemu_plugin_install(PluginId id, const void* info, int argc, char** argv);
}

namespace {

constexpr int kAdd = 0;  // QEMU_PLUGIN_INLINE_ADD_U64
constexpr char kPrefix[] = "prefix=";

const char* prefix;
uint64_t count;

void on_translation(PluginId, qemu_plugin_tb* block) {
  const char* symbol = qemu_plugin_insn_symbol(qemu_plugin_tb_get_insn(block, 0));
  if (symbol == nullptr || std::strncmp(symbol, prefix, std::strlen(prefix)) != 0) return;
  qemu_plugin_register_vcpu_tb_exec_inline(block, kAdd, &count, qemu_plugin_tb_n_insns(block));
}

void on_exit(PluginId, void*) { std::fprintf(stderr, "counted: %" PRIu64 "\n", count); }

}  // namespace

int qemu_plugin_install(PluginId id, const void*, int argc, char** argv) {
  if (argc != 1 || std::strncmp(argv[0], kPrefix, sizeof(kPrefix) - 1) != 0) return -1;
  prefix = strdup(argv[0] + sizeof(kPrefix) - 1);
  qemu_plugin_register_vcpu_tb_trans_cb(id, on_translation);
  qemu_plugin_register_atexit_cb(id, on_exit, nullptr);
  return 0;
}
