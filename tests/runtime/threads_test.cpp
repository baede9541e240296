// The default number of threads: environment text, cgroup files of both versions.
// SPDX-License-Identifier: Apache-2.0
#include "threads.h"

#include <gtest/gtest.h>

#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <thread>
#include <vector>

#include "fake_library.h"

namespace fovea::test {
namespace {

namespace fs = std::filesystem;

TEST(Threads, TextOfTheEnvironment) {
  EXPECT_EQ(detail::parse_thread_count("4"), 4);
  EXPECT_EQ(detail::parse_thread_count("2147483647"), 2147483647);
  for (const char* text :
       {"", "0", "-1", "4x", " 4", "+4", "four", "2147483648", "99999999999999999999"}) {
    EXPECT_EQ(detail::parse_thread_count(text), 0) << text;
  }
  EXPECT_EQ(detail::parse_thread_count(nullptr), 0);
}

TEST(Threads, Quotas) {
  EXPECT_EQ(detail::cpus_from_cpu_max("max 100000\n"), 0);
  EXPECT_EQ(detail::cpus_from_cpu_max("200000 100000\n"), 2);
  EXPECT_EQ(detail::cpus_from_cpu_max("150000 100000"), 2);
  EXPECT_EQ(detail::cpus_from_cpu_max("1000 100000"), 1);
  EXPECT_EQ(detail::cpus_from_cpu_max(""), 0);
  EXPECT_EQ(detail::cpus_from_cpu_max("100000"), 0);
  EXPECT_EQ(detail::cpus_from_quota(-1, 100000), 0);
  EXPECT_EQ(detail::cpus_from_quota(100, 0), 0);
  EXPECT_EQ(detail::cpus_from_quota(INT64_MAX, 1), INT32_MAX);
}

// A made-up /proc/self/cgroup and /sys/fs/cgroup.
class Cgroup : public testing::Test {
 protected:
  Cgroup() {
    const auto* info = testing::UnitTest::GetInstance()->current_test_info();
    root_ = fs::temp_directory_path() /
            ("fovea_cgroup_" + std::string(info->name()) + std::to_string(getpid()));
    fs::create_directories(root_);
  }
  ~Cgroup() override { fs::remove_all(root_); }

  void write(const std::string& path, const std::string& text) {
    fs::create_directories((root_ / path).parent_path());
    std::ofstream(root_ / path) << text;
  }
  int32_t limit() {
    return detail::cgroup_cpu_limit((root_ / "proc").string().c_str(),
                                    (root_ / "sys").string().c_str());
  }

 private:
  fs::path root_;
};

TEST_F(Cgroup, NoFilesNoLimit) { EXPECT_EQ(limit(), 0); }

TEST_F(Cgroup, VersionTwoTakesTheTightestUpToTheRoot) {
  write("proc", "0::/a/b\n");
  EXPECT_EQ(limit(), 0);
  write("sys/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(limit(), 0);
  write("sys/a/cpu.max", "300000 100000\n");
  EXPECT_EQ(limit(), 3);
  write("sys/a/b/cpu.max", "500000 100000\n");
  EXPECT_EQ(limit(), 3);
  write("sys/cpu.max", "100000 100000\n");
  EXPECT_EQ(limit(), 1);
}

TEST_F(Cgroup, VersionTwoInAContainerWhosePathIsOutside) {
  write("proc", "0::/../../system.slice/docker-1.scope\n");
  write("sys/cpu.max", "250000 100000\n");
  EXPECT_EQ(limit(), 3);
}

TEST_F(Cgroup, VersionTwoAtTheRoot) {
  write("proc", "0::/\n");
  write("sys/cpu.max", "400000 100000\n");
  EXPECT_EQ(limit(), 4);
}

TEST_F(Cgroup, VersionOne) {
  write("proc", "12:cpuset:/x\n4:cpu,cpuacct:/docker/1\n2:memory:/docker/1\n");
  write("sys/cpu/docker/1/cpu.cfs_quota_us", "200000\n");
  write("sys/cpu/docker/1/cpu.cfs_period_us", "100000\n");
  write("sys/cpuset/x/cpu.cfs_quota_us", "1\n");
  EXPECT_EQ(limit(), 2);
}

TEST_F(Cgroup, VersionOneBelowTheJointName) {
  write("proc", "4:cpu,cpuacct:/\n");
  write("sys/cpu,cpuacct/cpu.cfs_quota_us", "-1\n");
  write("sys/cpu,cpuacct/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(limit(), 0);
  write("sys/cpu,cpuacct/cpu.cfs_quota_us", "50000\n");
  EXPECT_EQ(limit(), 1);
}

// https://github.com/dmlc/xgboost/issues/7653: a container of one CPU on a machine of sixteen
TEST_F(Cgroup, Row142AQuotaOfOneCpuIsOneThread) {
  write("proc", "0::/\n");
  for (const char* quota : {"100000 100000\n", "50000 100000\n", "1000 50000\n"}) {
    write("sys/cpu.max", quota);
    EXPECT_EQ(limit(), 1) << quota;
  }
}

TEST_F(Cgroup, NonsenseIsNoLimit) {
  write("proc", "\n::\nabc\n0:\n0::" + std::string(5000, 'x'));
  EXPECT_EQ(limit(), 0);
}

TEST(Threads, DefaultIsPositiveAndTheSameForEveryThread) {
  std::vector<int32_t> counts(8);
  std::vector<std::thread> threads;
  for (auto& count : counts) threads.emplace_back([&count] { count = fovea_default_threads(); });
  for (auto& thread : threads) thread.join();
  EXPECT_GE(counts[0], 1);
  for (const int32_t count : counts) EXPECT_EQ(count, counts[0]);
  EXPECT_GE(detail::affinity_cpu_count(), 1);
}

}  // namespace
}  // namespace fovea::test
