// axes.h: lists and ranges of values on the command line.
// SPDX-License-Identifier: Apache-2.0
#ifndef FOVEA_BENCH_AXES_H
#define FOVEA_BENCH_AXES_H

#include <fovea/dsl/parameter.h>

#include <cstdint>
#include <string>
#include <vector>

namespace fovea::bench {

// "512", "512|2048", "1..16", "64..512+64", "512..8192*2", or several of them joined by "|".
// `where` begins the message. Throws std::invalid_argument naming the word and what is allowed.
std::vector<int64_t> parse_axis(const std::string& where, const std::string& text);

// "sq=512|2048,d=64|192/128": every combination, the last axis fastest. Axes are b, hq, hkv, sq,
// skv, d; without them b=1, hq=8, hkv=hq, d=64 and, for pass prefill, sq=2048, skv=sq, for decode
// sq=1, skv=4096. Throws std::invalid_argument.
std::vector<ExampleShape> parse_shapes(const std::string& text,
                                       const std::string& pass = "prefill");

}  // namespace fovea::bench

#endif
