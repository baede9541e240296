// SPDX-License-Identifier: Apache-2.0
extern "C" int model_run();

int main() { return model_run(); }
