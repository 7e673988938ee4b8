#include "actors/replica/states/part_gathering.hpp"

#include <algorithm>
#include <exception>

#include "muster/error.hpp"

namespace muster {

void PartGathering::enter(std::size_t pieces) {
  early_.clear();
  ignored_until_ = 0;
  pieces_ = pieces;
}

void PartGathering::begin(std::uint64_t record, GatheredParts parts, const Written& written) {
  gathering_.emplace(Gathering{record, std::move(parts), written});
}

void PartGathering::ignore_until(std::uint64_t record) {
  ignored_until_ = record;
  early_.erase(early_.begin(), early_.upper_bound(record));
}

void PartGathering::take_early(std::uint64_t record) {
  std::exception_ptr first;
  for (const Payload& part : std::exchange(early_[record], {})) {
    try {
      gathering_->parts.take(*part);
    } catch (const Error&) {
      if (!first) first = std::current_exception();
    }
  }
  if (first) std::rethrow_exception(first);
}

bool PartGathering::take(std::uint64_t record, const Payload& part) {
  if (gathering_ && record == gathering_->record) {
    gathering_->parts.take(*part);
    return true;
  }
  if (record <= ignored_until_) return true;
  auto& early = early_[record];
  const auto is_it = [&](const auto& each) { return *each == *part; };
  if (std::ranges::any_of(early, is_it)) return true;  // it has come twice
  if (early.size() >= pieces_) return false;
  early.push_back(part);
  return true;
}

std::optional<PartGathering::Whole> PartGathering::whole() {
  if (!gathering_ || !gathering_->parts.complete()) return std::nullopt;
  const Gathering done = *std::exchange(gathering_, std::nullopt);
  return Whole{done.parts.snapshot(), done.written};
}

std::optional<Written> PartGathering::give_up() {
  if (!gathering_) return std::nullopt;
  return std::exchange(gathering_, std::nullopt)->written;
}

}  // namespace muster
