// SPDX-License-Identifier: Apache-2.0
#include "processes.h"

#include <chrono>
#include <cstdio>
#include <stdexcept>
#include <thread>

namespace context_parallel {
namespace {

void require(int code, const char* what) {
  if (code == MPI_SUCCESS) return;
  char text[MPI_MAX_ERROR_STRING] = "";
  int length = 0;
  MPI_Error_string(code, text, &length);
  throw std::runtime_error(std::string(what) + ": " + text);
}

int as_count(std::size_t count) {
  if (count > static_cast<std::size_t>(INT32_MAX))
    throw std::runtime_error("a message of " + std::to_string(count) + " numbers is too long");
  return static_cast<int>(count);
}

}  // namespace

Processes::Processes(int* argc, char*** argv) {
  int provided = 0;
  require(MPI_Init_thread(argc, argv, MPI_THREAD_FUNNELED, &provided), "MPI_Init_thread");
  // Errors come back as codes, and become exceptions here.
  require(MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN), "MPI_Comm_set_errhandler");
  require(MPI_Comm_rank(MPI_COMM_WORLD, &rank_), "MPI_Comm_rank");
  require(MPI_Comm_size(MPI_COMM_WORLD, &size_), "MPI_Comm_size");
}

Processes::~Processes() { MPI_Finalize(); }

MPI_Request Processes::send(const std::vector<float>& numbers, int to) {
  MPI_Request request = MPI_REQUEST_NULL;
  require(MPI_Isend(numbers.data(), as_count(numbers.size()), MPI_FLOAT, to, 0, MPI_COMM_WORLD,
                    &request),
          "MPI_Isend");
  bytes_sent_ += static_cast<std::int64_t>(numbers.size() * sizeof(float));
  return request;
}

MPI_Request Processes::receive(std::vector<float>* numbers, int from) {
  MPI_Request request = MPI_REQUEST_NULL;
  require(MPI_Irecv(numbers->data(), as_count(numbers->size()), MPI_FLOAT, from, 0, MPI_COMM_WORLD,
                    &request),
          "MPI_Irecv");
  return request;
}

void Processes::wait(std::vector<MPI_Request> requests, const std::string& what) {
  const auto start = std::chrono::steady_clock::now();
  for (int done = 0; done == 0;) {
    require(MPI_Testall(as_count(requests.size()), requests.data(), &done, MPI_STATUSES_IGNORE),
            what.c_str());
    if (done != 0) return;
    const std::chrono::duration<double> waited = std::chrono::steady_clock::now() - start;
    if (waited.count() > deadline_) {
      char text[32];
      std::snprintf(text, sizeof(text), "%g", deadline_);
      throw std::runtime_error(what + ": no answer for " + text + " seconds");
    }
    // There may be more processes than CPUs: leave one to whoever is being waited for.
    std::this_thread::sleep_for(std::chrono::microseconds(100));
  }
}

void Processes::reduce(const std::vector<float>& part, std::vector<float>* result,
                       MPI_User_function* combine, const std::string& what) {
  MPI_Datatype record = MPI_DATATYPE_NULL;
  MPI_Op op = MPI_OP_NULL;
  require(MPI_Type_contiguous(as_count(part.size()), MPI_FLOAT, &record), "MPI_Type_contiguous");
  require(MPI_Type_commit(&record), "MPI_Type_commit");
  require(MPI_Op_create(combine, 0, &op), "MPI_Op_create");
  MPI_Request request = MPI_REQUEST_NULL;
  require(MPI_Ireduce(part.data(), result->data(), 1, record, op, 0, MPI_COMM_WORLD, &request),
          "MPI_Ireduce");
  wait({request}, what);
  MPI_Op_free(&op);
  MPI_Type_free(&record);
  // Of a tree of messages: every rank but the root of it sends one.
  if (!is_first()) bytes_sent_ += static_cast<std::int64_t>(part.size() * sizeof(float));
}

std::vector<double> Processes::gather(double number, const std::string& what) {
  std::vector<double> numbers(static_cast<std::size_t>(size_));
  MPI_Request request = MPI_REQUEST_NULL;
  require(MPI_Igather(&number, 1, MPI_DOUBLE, numbers.data(), 1, MPI_DOUBLE, 0, MPI_COMM_WORLD,
                      &request),
          "MPI_Igather");
  wait({request}, what);
  return numbers;
}

void Processes::meet(const std::string& what) {
  MPI_Request request = MPI_REQUEST_NULL;
  require(MPI_Ibarrier(MPI_COMM_WORLD, &request), "MPI_Ibarrier");
  wait({request}, what);
}

}  // namespace context_parallel
