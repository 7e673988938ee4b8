#include "transport/shared_memory/connection.hpp"

#include <exception>

#include "muster/error.hpp"

namespace muster::shm {
namespace {

constexpr std::size_t kSegmentsMax = 4096;  // that another process hands over

}  // namespace

void Incoming::keep(const Heard& heard) {
  if (segments.size() >= kSegmentsMax) throw Error("too many pieces of shared memory");
  segments[heard.handed->segment] = std::make_shared<const ForeignSegment>(heard.memory, heard.handed->bytes);
}

std::shared_ptr<const ForeignSegment> Incoming::segment(std::uint64_t wanted) {
  try {
    while (!segments.contains(wanted)) {
      const Heard heard = hear(socket);
      if (!heard.handed) return nullptr;
      keep(heard);
    }
  } catch (const std::exception&) {
    return nullptr;
  }
  return segments.at(wanted);
}

void Outgoing::forget_freed() {
  const std::uint64_t freed_now = segments_freed();
  if (freed == freed_now || (!queue.empty() && queue.front().begun)) return;
  for (auto at = handed.begin(); at != handed.end();) {
    if (segment_lives(*at)) {
      ++at;
      continue;
    }
    if (box.room() < kLine) return;
    Forget forget;
    forget.segment = *at;
    box.put(std::as_bytes(std::span(&forget, 1)), false);
    box.publish();
    at = handed.erase(at);
  }
  freed = freed_now;
}

void pair(Incoming& in, Outgoing& out) {
  if (out.in != nullptr) out.in->back = nullptr;
  out.in = &in;
  in.back = &out;
  OutboxHead& head = out.box.head();
  head.answers.store(0, std::memory_order_release);
  head.taken.store(in.box->taken(), std::memory_order_release);
  head.returned.store(in.returned(), std::memory_order_release);
  head.answers.store(in.stream, std::memory_order_release);
}

}  // namespace muster::shm
