#include "transport/collective/sums/sum_plan.hpp"

#include <algorithm>
#include <map>
#include <numeric>
#include <span>

#include "base/check.hpp"

namespace muster {
namespace {

// Of a chunk that all add up: so many parts at most, of so many elements at least.
constexpr std::size_t kPartsMax = 8;
constexpr std::size_t kPartMin = 16 * 1024;

/// The children of each member in a tree.
class Children {
 public:
  explicit Children(const Parents& parents) : first_(parents.size() + 2, 0), all_(parents.size()) {
    for (std::uint32_t member = 0; member < parents.size(); ++member) {
      if (parents[member] != member) ++first_[parents[member] + 2];
    }
    std::partial_sum(first_.begin(), first_.end(), first_.begin());
    for (std::uint32_t member = 0; member < parents.size(); ++member) {
      if (parents[member] != member) all_[first_[parents[member] + 1]++] = member;
    }
  }
  std::span<const std::uint32_t> of(std::uint32_t member) const {
    return std::span(all_).subspan(first_[member], first_[member + 1] - first_[member]);
  }
  void add_below(std::uint32_t member, std::vector<std::uint32_t>& below) const {
    below.push_back(member);
    for (const std::uint32_t child : of(member)) add_below(child, below);
  }

 private:
  std::vector<std::size_t> first_;
  std::vector<std::uint32_t> all_;
};

}  // namespace

std::vector<NodeId> cover_of(unsigned height, std::vector<LeafInterval> intervals) {
  std::sort(intervals.begin(), intervals.end(),
            [](const auto& a, const auto& b) { return a.begin < b.begin; });
  std::vector<NodeId> nodes;
  for (std::size_t i = 0; i < intervals.size();) {
    LeafInterval whole = intervals[i++];
    while (i < intervals.size() && intervals[i].begin == whole.end) whole.end = intervals[i++].end;
    const auto part = cover(height, whole.begin, whole.end);
    nodes.insert(nodes.end(), part.begin(), part.end());
  }
  return nodes;
}

SumPlan::SumPlan(const ReductionShape& shape) : shape_(shape), height_(tree_height(shape.shards)) {
  MUSTER_CHECK(shape_.self < shape_.members.size() && shape_.chunk_elements > 0, shape_.self);
  MUSTER_CHECK(!shape_.sharded || !adds_everywhere(shape_.algorithm), "parts need owners");
  make_roles();
  cut();
  group();
}

void SumPlan::make_roles() {
  std::vector<std::uint32_t> hosts;
  for (const ReductionMember& member : shape_.members) hosts.push_back(member.host);
  for (std::uint32_t owner = 0; owner < shape_.members.size(); ++owner) {
    Parents parents =
        tree_of(shape_.algorithm, hosts, adds_everywhere(shape_.algorithm) ? shape_.self : owner);
    roles_.push_back(role_in(parents));
    if (shape_.backup_workers) trees_.push_back(std::move(parents));
  }
}

SumPlan::Role SumPlan::role_in(const Parents& parents) const {
  const Children children(parents);
  const auto cover_below = [&](std::uint32_t member) {
    std::vector<std::uint32_t> below;
    children.add_below(member, below);
    std::vector<LeafInterval> intervals;
    for (const std::uint32_t m : below) intervals.push_back({shape_.members[m].begin, shape_.members[m].end});
    return cover_of(height_, std::move(intervals));
  };
  const ReductionMember& mine = shape_.members[shape_.self];
  Role role;
  role.owns = parents[shape_.self] == shape_.self;
  role.parent = parents[shape_.self];
  for (const NodeId node : cover(height_, mine.begin, mine.end)) role.inputs.push_back({node, shape_.self});
  for (const std::uint32_t member : children.of(shape_.self)) {
    role.children.push_back(member);
    for (const NodeId node : cover_below(member)) role.inputs.push_back({node, member});
  }
  if (shape_.algorithm == Algorithm::direct) {
    // Results go to those behind this member first, so that not all send to the same one.
    const auto behind = std::upper_bound(role.children.begin(), role.children.end(), shape_.self);
    std::rotate(role.children.begin(), behind, role.children.end());
  }
  if (adds_everywhere(shape_.algorithm)) {
    role.outputs = cover(height_, mine.begin, mine.end);
  } else if (!role.owns) {
    role.outputs = cover_below(shape_.self);
  }
  return role;
}

void SumPlan::cut() {
  const Buckets cut_at(shape_.elements, shape_.bucket_elements);
  for (std::size_t i = 0; i < cut_at.count(); ++i) {
    buckets_.push_back({cut_at[i], {pieces_.size(), 0}, {}});
    cut(buckets_.back());
    buckets_.back().pieces.end = pieces_.size();
  }
}

// One range per owner, in chunks.
void SumPlan::cut(Bucket& bucket) {
  const auto members = static_cast<std::uint32_t>(shape_.members.size());
  if (adds_everywhere(shape_.algorithm)) return cut_for_all(bucket);
  // Where the parts of an optimizer lie must not depend on the algorithm: views may have different ones.
  const auto owners = owners_in_order(shape_.sharded ? Algorithm::direct : shape_.algorithm, members);
  for (std::uint32_t place = 0; place < members; ++place) {
    cut(range_of_owner(bucket.elements, place, members), owners[place]);
  }
}

// All of it is this member's; each chunk in parts, so that members can begin with different ones.
void SumPlan::cut_for_all(const Bucket& bucket) {
  const std::size_t most = std::min(shape_.members.size(), kPartsMax);
  for (std::size_t begin = bucket.elements.begin; begin < bucket.elements.end;) {
    const ElementRange chunk{begin, std::min(begin + shape_.chunk_elements, bucket.elements.end)};
    const std::size_t parts = std::clamp<std::size_t>(chunk.count() / kPartMin, 1, most);
    for (std::size_t part = 0; part < parts; ++part) cut(range_of_owner(chunk, part, parts), shape_.self);
    begin = chunk.end;
  }
}

void SumPlan::cut(ElementRange range, std::uint32_t owner) {
  for (std::size_t begin = range.begin; begin < range.end; begin += shape_.chunk_elements) {
    Piece piece;
    piece.begin = begin;
    piece.count = std::min(shape_.chunk_elements, range.end - begin);
    piece.owner = owner;
    piece.first_input = inputs_;
    const Role& role = roles_[owner];
    if (role.owns || role.adds()) inputs_ += role.inputs.size();
    pieces_.push_back(std::move(piece));
  }
}

// Whether a piece can go in one message with those before it, also with those of other owners: the edges of
// all trees have an order, from the leaves to the owners, in which each message waits only for earlier ones
// (levels of the canonical tree; or first within a host, then between hosts).
bool SumPlan::goes_along(const Run& run, const Piece& piece) const {
  return run.begin + run.count == piece.begin && run.count + piece.count <= shape_.chunk_elements;
}

bool SumPlan::goes_along_up(const Run& run, const Piece& piece) const {
  const Role& before = role(pieces_[run.first]);
  const Role& now = role(piece);
  return goes_along(run, piece) && before.parent == now.parent && before.inputs == now.inputs &&
         before.outputs == now.outputs;
}

void SumPlan::group() {
  for (Bucket& bucket : buckets_) adds_everywhere(shape_.algorithm) ? give_to_all(bucket) : group(bucket);
}

// A chunk to all before the next one: they can add it up meanwhile.
void SumPlan::give_to_all(Bucket& bucket) {
  const auto members = static_cast<std::uint32_t>(shape_.members.size());
  for (std::size_t i = bucket.pieces.first; i < bucket.pieces.end;) {
    Run run{0, i, 0, pieces_[i].begin, 0};
    for (; i < bucket.pieces.end && run.count + pieces_[i].count <= shape_.chunk_elements; ++i) {
      run.count += pieces_[i].count;
      ++run.pieces;
    }
    for (std::uint32_t turn = 1; turn < members; ++turn) {
      run.to = (shape_.self + turn) % members;
      bucket.first_sends.push_back(static_cast<std::uint32_t>(up_.size()));
      up_.push_back(run);
    }
  }
}

std::size_t SumPlan::turned(Pieces pieces, std::size_t at) const {
  const std::size_t count = pieces.end - pieces.first;
  const std::size_t first =
      adds_everywhere(shape_.algorithm) ? count * shape_.self / shape_.members.size() : 0;
  return pieces.first + (first + at) % count;
}

void SumPlan::group(Bucket& bucket) {
  std::map<std::uint32_t, std::uint32_t> last;  // the last run down to each child
  const auto first_up = static_cast<std::uint32_t>(up_.size());
  for (std::size_t i = bucket.pieces.first; i < bucket.pieces.end; ++i) {
    Piece& piece = pieces_[i];
    const Role& mine = role(piece);
    const auto join = [&](std::vector<Run>& runs, std::uint32_t run) {
      ++runs[run].pieces;
      runs[run].count += piece.count;
    };
    if (!mine.owns) {
      if (up_.size() == first_up || !goes_along_up(up_.back(), piece))
        up_.push_back({mine.parent, i, 0, piece.begin, 0});
      piece.up = static_cast<std::uint32_t>(up_.size() - 1);
      join(up_, *piece.up);
    }
    for (const std::uint32_t child : mine.children) {
      const auto run = last.find(child);
      if (run == last.end() || !goes_along(down_[run->second], piece)) {
        last[child] = static_cast<std::uint32_t>(down_.size());
        down_.push_back({child, i, 0, piece.begin, 0});
      }
      piece.down.push_back(last[child]);
      join(down_, last[child]);
    }
  }
  const auto members = static_cast<std::uint32_t>(shape_.members.size());
  const auto turn = [&](std::uint32_t run) { return (up_[run].to + members - shape_.self) % members; };
  for (std::uint32_t run = first_up; run < up_.size(); ++run) {
    if (!role(pieces_[up_[run].first]).adds()) bucket.first_sends.push_back(run);
  }
  std::stable_sort(bucket.first_sends.begin(), bucket.first_sends.end(),
                   [&](std::uint32_t a, std::uint32_t b) { return turn(a) < turn(b); });
}

std::optional<SumPlan::Pieces> SumPlan::pieces_at(std::uint64_t begin, std::uint64_t count) const {
  const auto found = std::lower_bound(pieces_.begin(), pieces_.end(), begin,
                                      [](const Piece& piece, std::uint64_t at) { return piece.begin < at; });
  if (found == pieces_.end() || found->begin != begin || count == 0) return std::nullopt;
  Pieces pieces{static_cast<std::size_t>(found - pieces_.begin()), 0};
  pieces.end = pieces.first;
  std::uint64_t left = count;
  while (left > 0) {
    if (pieces.end == pieces_.size() || pieces_[pieces.end].count > left) return std::nullopt;
    left -= pieces_[pieces.end++].count;
  }
  return pieces;
}

std::vector<std::uint32_t> SumPlan::adders_of(const Piece& piece, std::uint32_t member) const {
  const Parents& parents = trees_.at(piece.owner);
  if (adds_everywhere(shape_.algorithm)) {
    std::vector<std::uint32_t> adders(parents.size());
    std::iota(adders.begin(), adders.end(), 0u);
    return adders;
  }
  const bool adds = std::find(parents.begin(), parents.end(), member) != parents.end();
  return {adds ? member : parents[member]};
}

}  // namespace muster
