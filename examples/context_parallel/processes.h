// The processes of a run. Nothing here waits for ever: a process that does not answer within the
// deadline is an error on the others. Errors are std::runtime_error.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <mpi.h>

#include <cstdint>
#include <string>
#include <vector>

namespace context_parallel {

class Processes {
 public:
  Processes(int* argc, char*** argv);
  ~Processes();
  Processes(const Processes&) = delete;
  Processes& operator=(const Processes&) = delete;

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool is_first() const { return rank_ == 0; }
  void set_deadline(double seconds) { deadline_ = seconds; }

  // Begin; the numbers must stay where they are until wait().
  MPI_Request send(const std::vector<float>& numbers, int to);
  MPI_Request receive(std::vector<float>* numbers, int from);
  void wait(std::vector<MPI_Request> requests, const std::string& what);

  // The parts of all ranks become one at rank 0, in the order of ranks, by `combine`, which gets
  // one record: a whole part.
  void reduce(const std::vector<float>& part, std::vector<float>* result,
              MPI_User_function* combine, const std::string& what);
  // A number of each rank, at rank 0.
  std::vector<double> gather(double number, const std::string& what);
  void meet(const std::string& what);

  // By send() and reduce(), since they were last forgotten.
  std::int64_t bytes_sent() const { return bytes_sent_; }
  void forget_bytes() { bytes_sent_ = 0; }

 private:
  int rank_ = 0, size_ = 1;
  double deadline_ = 60;
  std::int64_t bytes_sent_ = 0;
};

}  // namespace context_parallel
