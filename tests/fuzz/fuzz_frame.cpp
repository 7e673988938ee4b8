// The header of every message of the data plane (transport/frame.hpp).
#include "tests/fuzz/checked_frames.hpp"

namespace muster::fuzz {

bool accepts(Input input) {
  std::string why;
  const bool whole = input.size() == sizeof(Frame);
  const Frame right = whole ? with_check(input) : Frame{};
  const auto frame = decode_frame(whole ? raw(right) : input, why);
  MUSTER_CHECK(frame.has_value() == why.empty(), why);
  if (!frame) return false;
  MUSTER_CHECK(same_bytes(raw(*frame), raw(right)));
  MUSTER_CHECK(frame->bytes <= kPayloadBytesMax, frame->bytes);
  return true;
}

std::vector<Bytes> seeds() {
  std::vector<Bytes> all;
  for (const FrameKind kind : {FrameKind::header, FrameKind::result, FrameKind::demand, FrameKind::record}) {
    Frame frame;
    frame.kind = kind;
    frame.view = 3;
    frame.bytes = 4096;
    all.push_back(joined({raw(frame)}));
  }
  return all;
}

}  // namespace muster::fuzz
