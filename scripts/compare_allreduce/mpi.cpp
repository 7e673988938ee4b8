// scripts/compare-allreduce: Open MPI's side. mpirun -n RANKS mpi BYTES ITERATIONS; rank 0 prints the times
// of the slowest rank, in microseconds, as a JSON list.
#include <mpi.h>

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <vector>

int main(int argc, char** argv) {
  MPI_Init(&argc, &argv);
  if (argc != 3) return 2;
  const auto elements = std::strtoull(argv[1], nullptr, 10) / sizeof(float);
  const int iterations = std::atoi(argv[2]);
  constexpr int kWarmUp = 3;
  int rank = 0, ranks = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &ranks);
  std::vector<float> values(elements), sum(elements);
  std::vector<double> times;
  bool correct = true;
  for (int iteration = 0; iteration < kWarmUp + iterations; ++iteration) {
    for (std::size_t i = 0; i < elements; ++i) values[i] = static_cast<float>((i + iteration) % 8 + rank);
    MPI_Barrier(MPI_COMM_WORLD);
    MPI_Barrier(MPI_COMM_WORLD);  // all leave the second one at the same time
    const auto begun = std::chrono::steady_clock::now();
    MPI_Allreduce(values.data(), sum.data(), static_cast<int>(elements), MPI_FLOAT, MPI_SUM, MPI_COMM_WORLD);
    const std::chrono::duration<double, std::micro> took = std::chrono::steady_clock::now() - begun;
    MPI_Barrier(MPI_COMM_WORLD);  // nobody checks while others still reduce
    if (iteration >= kWarmUp) times.push_back(took.count());
    for (std::size_t i = 0; i < elements; ++i) {
      const auto expected = static_cast<float>(ranks * ((i + iteration) % 8) + ranks * (ranks - 1) / 2);
      correct = correct && sum[i] == expected;
    }
  }
  std::vector<double> slowest(times.size());
  MPI_Reduce(times.data(), slowest.data(), static_cast<int>(times.size()), MPI_DOUBLE, MPI_MAX, 0,
             MPI_COMM_WORLD);
  if (rank == 0) {
    for (std::size_t i = 0; i < slowest.size(); ++i) std::printf("%s%.3f", i == 0 ? "[" : ", ", slowest[i]);
    std::printf("]\n");
  }
  MPI_Finalize();
  return correct ? 0 : 1;
}
