// The tokenizer by itself: the fixture's texts must give the fixture's ids.
//
// SPDX-License-Identifier: Apache-2.0
#include <exception>
#include <iostream>
#include <stdexcept>
#include <string>

#include "fixture.h"
#include "tokenizer.h"

namespace {

int failures = 0;

void expect_refused(const sentence_embedding::Tokenizer& tokenizer, const std::string& text,
                    const std::string& what) {
  try {
    (void)tokenizer.encode(text);
    std::cout << "FAIL: accepted " << what << '\n';
    ++failures;
  } catch (const std::runtime_error& error) {
    std::cout << "refused " << what << ": " << error.what() << '\n';
  }
}

void expect_fixture(const sentence_embedding::Tokenizer& tokenizer,
                    const sentence_embedding::Fixture& fixture) {
  for (const auto& sentence : fixture.sentences) {
    const auto found = tokenizer.encode(sentence.text);
    if (found == sentence.ids) continue;
    ++failures;
    std::cout << "FAIL: " << sentence.text << "\n  found   ";
    for (const auto id : found) std::cout << ' ' << id;
    std::cout << "\n  expected";
    for (const auto id : sentence.ids) std::cout << ' ' << id;
    std::cout << '\n';
  }
  std::cout << fixture.sentences.size() << " sentences tokenized\n";
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 3) {
    std::cerr << "usage: tokenizer_test MODEL_DIR FIXTURE\n";
    return 2;
  }
  try {
    const sentence_embedding::Tokenizer tokenizer(argv[1]);
    expect_fixture(tokenizer, sentence_embedding::read_fixture(argv[2]));
    expect_refused(tokenizer, "caf\xE9", "Latin-1");
    expect_refused(tokenizer, "\xC0\xAF", "an overlong form");
    expect_refused(tokenizer, "\xED\xA0\x80", "a surrogate");
    expect_refused(tokenizer, "\xE2\x82", "a cut character");
    expect_refused(tokenizer, "\xF4\x90\x80\x80", "a character above U+10FFFF");
  } catch (const std::exception& error) {
    std::cout << "FAIL: " << error.what() << '\n';
    ++failures;
  }
  return failures == 0 ? 0 : 1;
}
