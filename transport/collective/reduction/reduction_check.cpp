// Whether the members of a round fit together, and have the same bits; what follows where they have not.
#include "transport/collective/reduction/reduction.hpp"

namespace muster {

namespace {

SharedTimes times_of_host(const std::vector<Kept<RoundHeader>>& headers, const ReductionShape& shape) {
  SharedTimes times;
  for (std::size_t member = 0; member < headers.size(); ++member) {
    if (shape.members[member].host == shape.members[shape.self].host)
      times.add(headers[member]->variant_times);
  }
  return times;
}

}  // namespace

// All headers are in: whether they fit together is looked at once. Then it is known which leaves are present,
// what the divisor is, and which nodes will come.
bool Reduction::agree(Slot& current) {
  const auto& headers = current.reports.headers();
  if (const std::string why = disagreement(headers, peers_, shape_.self); !why.empty()) {
    fail(why);
    return false;
  }
  if (!goes_on(unlike_headers(headers, peers_))) return false;
  current.agreed = true;
  said_ = times_of_host(headers, shape_);
  const bool with_sums = has_sums(current.reports.own_header().kind);
  current.presence.read(headers, shape_.shards, with_sums);
  if (with_sums && current.presence.any) open_sum().settle(current.presence.shards, current.presence.weight);
  return !failed_;
}

// What is found is said once in a view.
bool Reduction::goes_on(const std::optional<Unlike>& found) {
  if (!found) return true;
  const bool goes_on = shape_.goes_on_unlike && hooks_.unlike;
  if (!hooks_.unlike) {
    fail("diverged: " + found->text());
    return false;
  }
  if (!goes_on) close();
  if (!std::exchange(unlike_said_, true)) hooks_.unlike(*found);
  return goes_on;
}

}  // namespace muster
