#include "actors/rules/membership/standing_still.hpp"

namespace muster {

std::string what_it_does(const NodeRecord& record, bool any_loader) {
  const bool is_served = record.work.waits_for_data() && any_loader;
  const bool plane_hangs = record.hangs > record.work.stands_for();
  if (record.work.may_hang() && !is_served && !plane_hangs) return record.work.text();
  return "has done nothing in the thread of its data plane for " + std::to_string(record.hangs.count()) +
         " ms";
}

}  // namespace muster
