// kv_cache_test.cpp: what --kv-cache takes.
// SPDX-License-Identifier: Apache-2.0
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <stdexcept>
#include <string>

#include "bench/kv_cache.h"

namespace fovea::bench {
namespace {

TEST(KvCache, RoundTrip) {
  for (const char* text : {"none", "same", "same:16", "int8", "int4:1", "e4m3:256", "e5m2"})
    EXPECT_EQ(parse_kv_cache(text).text(), text);
  EXPECT_EQ(parse_kv_cache("int8:16").page_size, 16);
}

TEST(KvCache, Refusals) {
  for (const char* text : {"", "int3", "same:", "same:0", "same:3", "same:16x", "same:-4",
                           "none:16", "int8:2097152"}) {
    try {
      parse_kv_cache(text);
      ADD_FAILURE() << text << " is accepted";
    } catch (const std::invalid_argument& error) {
      EXPECT_THAT(error.what(), testing::HasSubstr("--kv-cache '" + std::string(text) + "'"));
      EXPECT_THAT(error.what(), testing::HasSubstr("allowed is"));
    }
  }
}

}  // namespace
}  // namespace fovea::bench
