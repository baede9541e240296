// Vocabulary and settings of a model folder: what is read, and what is refused with which words.
//
// SPDX-License-Identifier: Apache-2.0
#include "vocabulary.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <fstream>
#include <functional>
#include <stdexcept>

#include "model.h"

namespace transliterate {
namespace {

using ::testing::HasSubstr;

std::filesystem::path write_file(const std::string& text) {
  const auto path = std::filesystem::path(::testing::TempDir()) / "transliterate_test.json";
  std::ofstream(path, std::ios::binary | std::ios::trunc) << text;
  return path;
}

const std::string kTokens =
    R"("<PAD>","<BOS>","<EOS>","<UNK>","<UNK_COUNTRY>","<EG>","<ROLE_GIVEN>","<ROLE_SURNAME>","<ROLE_UNKNOWN>"," ","a","م","ن")";

Vocabulary small() { return Vocabulary(write_file(R"({"tokens":[)" + kTokens + "]}")); }

std::string refusal(const std::function<void()>& action) {
  try {
    action();
  } catch (const std::runtime_error& error) {
    return error.what();
  }
  return "accepted";
}

TEST(Vocabulary, Encodes) {
  EXPECT_EQ(small().encode("من م", {}, 40), (TokenIds{4, 8, 11, 12, 9, 11, 2}));
  EXPECT_EQ(small().encode("م", {"EG", "surname"}, 4), (TokenIds{5, 7, 11, 2}));
  EXPECT_EQ(small().letters(), (TokenIds{11, 12}));
}

TEST(Vocabulary, DecodesUpToTheEnd) {
  EXPECT_EQ(small().decode({10, 9, 3, 10, 2, 10}), "a a");
  EXPECT_EQ(small().encode_target("a a"), (TokenIds{10, 9, 10, 2}));
}

TEST(Vocabulary, RefusesNames) {
  const Vocabulary vocabulary = small();
  EXPECT_THAT(refusal([&] { (void)vocabulary.encode("مX", {}, 40); }),
              HasSubstr("character 2 is U+0058 (X), which the model does not know; allowed: م ن"));
  EXPECT_THAT(refusal([&] { (void)vocabulary.encode("a", {}, 40); }), HasSubstr("U+0061 (a)"))
      << "a letter of the output is none of the input";
  EXPECT_THAT(refusal([&] { (void)vocabulary.encode("", {}, 40); }),
              HasSubstr("nothing is left of the name"));
  EXPECT_THAT(refusal([&] { (void)vocabulary.encode("ممم", {}, 5); }),
              HasSubstr("has 3 characters, allowed are at most 2"));
  EXPECT_THAT(refusal([&] { (void)vocabulary.encode("م", {"eg", ""}, 40); }),
              HasSubstr("country is 'eg', allowed: EG"));
  EXPECT_THAT(refusal([&] { (void)vocabulary.encode("م", {"", "king"}, 40); }),
              HasSubstr("role is 'king', allowed: given surname unknown"));
}

TEST(Vocabulary, RefusesFiles) {
  const auto read = [](const std::string& text) {
    return refusal([&] { const Vocabulary vocabulary(write_file(text)); });
  };
  EXPECT_THAT(read("{"), HasSubstr("tokens is missing"));
  EXPECT_THAT(read(R"({"tokens":[1]})"), HasSubstr("tokens holds 1, expected strings"));
  EXPECT_THAT(read(R"({"tokens":["a"]})"), HasSubstr("expected <PAD> <BOS> <EOS> <UNK>"));
  EXPECT_THAT(read(R"({"tokens":[)" + kTokens + R"(,"a"]})"), HasSubstr("\"a\" twice"));
  EXPECT_THAT(read(R"({"tokens":["<PAD>","<BOS>","<EOS>","<UNK>"]})"),
              HasSubstr("tokens lack <UNK_COUNTRY>"));
  EXPECT_THAT(refusal([] { const Vocabulary vocabulary("no/such/vocab.json"); }),
              HasSubstr("no/such/vocab.json: cannot be opened"));
}

TEST(Settings, AreCheckedWhenRead) {
  const auto meta = [](const std::string& beam, const std::string& arch, const std::string& width) {
    return write_file(R"({"arch":")" + arch + R"(","max_tgt_len":32,"beam_width":)" + beam +
                      R"(,"length_alpha":1.0,"config":{"d_model":)" + width +
                      R"(,"num_layers":2,"max_src_len":40}})");
  };
  EXPECT_EQ(Settings::read(meta("2", "gru", "256")).source_tokens, 40);
  const auto read = [](const std::filesystem::path& file) {
    return refusal([&] { (void)Settings::read(file); });
  };
  EXPECT_THAT(read(meta("0", "gru", "256")), HasSubstr("beam_width is 0, expected 1 to 16"));
  EXPECT_THAT(read(meta("2.5", "gru", "256")), HasSubstr("beam_width is 2.5, expected 1 to 16"));
  EXPECT_THAT(read(meta("2", "transformer", "256")),
              HasSubstr(R"(arch is "transformer", expected "gru")"));
  EXPECT_THAT(read(meta("2", "gru", "128")), HasSubstr("config/d_model is 128, expected 256"));
  EXPECT_THAT(read(write_file("{}")), HasSubstr("arch is missing, expected \"gru\""));
  EXPECT_THAT(read(write_file("")), HasSubstr("is not a JSON object"));
  EXPECT_THAT(read("no/such/meta.json"), HasSubstr("cannot be opened"));
}

}  // namespace
}  // namespace transliterate
