// A torch module's place on a card. No CUDA in this header; the functions exist only in builds whose libtorch
// has CUDA.
#pragma once

#include <memory>

#include "gpu/torch/seat.hpp"

namespace muster {

/// Cards that libtorch can use; 0 without a driver.
int torch_cards();

/// `stream` is a cudaStream_t of this card that outlives the seat; null is the card's default stream.
///
/// Memory: batches go through pinned memory, in two turns for the inputs and two for the labels, each as
/// large as the largest batch so far (libtorch rounds it up to a power of two), so that the host fills one
/// turn while the card still reads the other. Nothing else waits for the card but metrics().
std::unique_ptr<TorchSeat> make_cuda_seat(int card, void* stream);

}  // namespace muster
