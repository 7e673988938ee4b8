#include "actors/rules/membership/standing_still.hpp"

namespace muster {

std::string what_it_does(const NodeRecord& record, bool any_loader) {
  const bool is_served = record.last.work.waits_for_data() && any_loader;
  const bool plane_hangs = record.last.hangs > record.last.work.stands_for();
  if (record.last.work.may_hang() && !is_served && !plane_hangs) return record.last.work.text();
  return "has done nothing in the thread of its data plane for " + std::to_string(record.last.hangs.count()) +
         " ms";
}

}  // namespace muster
