// SPDX-License-Identifier: Apache-2.0
#include "check_row.h"

#include <gtest/gtest.h>

namespace fovea::test {

void expect_refused(const CheckRow& row) {
  Attention a(row.variant);
  ASSERT_EQ(a.run(), FOVEA_OK) << fovea_last_message();
  row.spoil(a);
  const std::vector<float> out = a.out;
  const std::vector<float> lse = a.lse;
  const std::vector<float> row_max = a.row_max;
  const std::vector<float> row_sum = a.row_sum;
  const std::vector<float> probabilities = a.probabilities;
  forget_seen();

  EXPECT_EQ(a.run(), row.status);
  const std::string message = fovea_last_message();
  for (const std::string& part : row.says) {
    EXPECT_NE(message.find(part), std::string::npos) << part << " in: " << message;
  }
  EXPECT_TRUE(seen().empty());
  EXPECT_EQ(a.out, out);
  EXPECT_EQ(a.lse, lse);
  EXPECT_EQ(a.row_max, row_max);
  EXPECT_EQ(a.row_sum, row_sum);
  EXPECT_EQ(a.probabilities, probabilities);

  // The other two entry points are not given the parameters.
  std::string text;
  const fovea_status explained = a.explain(&text);
  if (message.find("params") != std::string::npos) {
    EXPECT_EQ(explained, FOVEA_OK);
    return;
  }
  EXPECT_EQ(explained, row.status);
  const std::string first_line = std::string(fovea_status_name(row.status)) + ": " + message + "\n";
  EXPECT_EQ(text.rfind(first_line, 0), 0U) << text;
  if (row.status == FOVEA_WORKSPACE_TOO_SMALL) return;
  EXPECT_EQ(a.workspace(), 0U);
  EXPECT_EQ(fovea_last_message(), message);
}

}  // namespace fovea::test
