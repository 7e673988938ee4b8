// What arrives at the coordinator's port, and at a node's, behind CAF's own header: bytes -> caf::message,
// with every type of the message page (actors/messages/messages.hpp). What then reads a message's text is
// called, too: an event is written as a line, a job is read.
#include <caf/all.hpp>
#include <caf/binary_deserializer.hpp>
#include <caf/binary_serializer.hpp>

#include "actors/events/event.hpp"
#include "actors/messages/messages.hpp"
#include "muster/run.hpp"
#include "tests/fuzz/fuzz.hpp"

namespace muster::fuzz {
namespace {

/// A system without threads, for its table of types.
struct Quiet {
  caf::actor_system_config config;
  caf::actor_system system;

  static caf::actor_system_config& prepared(caf::actor_system_config& config) {
    configure(config);
    config.set("scheduler.policy", caf::atom("testing"));
    return config;
  }
  Quiet() : system(prepared(config)) {}
};

caf::actor_system& quiet_system() {
  static auto* quiet = new Quiet;  // for the life of the process: CAF's own statics may end before it would
  return quiet->system;
}

std::vector<char> wire_of(const caf::message& message) {
  std::vector<char> buffer;
  caf::binary_serializer sink(quiet_system(), buffer);
  MUSTER_CHECK(!message.save(sink));
  return buffer;
}

template <class T>
T example() {
  T value{};
  if constexpr (std::is_same_v<T, Event>) {
    value = make_event("notice", {{"text", std::string("a notice")}});
  } else if constexpr (std::is_same_v<T, Raised>) {
    value.event = example<Event>();
  } else if constexpr (std::is_same_v<T, View>) {
    value.replicas.resize(2);
    value.loaders.resize(1);
    value.behind.resize(1);
  } else if constexpr (std::is_same_v<T, Install>) {
    value.view = example<View>();
  } else if constexpr (std::is_same_v<T, Close>) {
    value.lost.resize(2);
  } else if constexpr (std::is_same_v<T, Welcome>) {
    value.job_toml = "name = \"job\"";
  }
  return value;
}

// One message of each type id from `first` on.
template <caf::type_id_t first, std::size_t... I>
std::vector<caf::message> examples(std::index_sequence<I...>) {
  return {caf::make_message(example<typename caf::type_by_id<first + I>::type>())...};
}

void use(const caf::message& message) {
  if (message.match_elements<Raised>()) to_json_line(message.get_as<Raised>(0).event);
  if (message.match_elements<Event>()) to_json_line(message.get_as<Event>(0));
}

}  // namespace

bool accepts(Input input) {
  caf::message message;
  caf::binary_deserializer source(quiet_system(), reinterpret_cast<const char*>(input.data()), input.size());
  try {
    if (message.load(source))
      return false;  // source(message) would lose the error, and give an empty message
  } catch (const std::exception&) {
    return false;  // CAF's own reader gives up by exceptions here and there; the connection is then cut
  }
  use(message);
  const std::vector<char> once = wire_of(message);
  caf::message again;
  caf::binary_deserializer second(quiet_system(), once);
  MUSTER_CHECK(!again.load(second));
  MUSTER_CHECK(wire_of(again) == once);
  return true;
}

std::vector<Bytes> seeds() {
  constexpr auto first = caf::id_block::muster_observer::begin;  // the other block follows it
  std::vector<Bytes> all;
  for (const auto& message :
       examples<first>(std::make_index_sequence<caf::id_block::muster::end - first>())) {
    const std::vector<char> wire = wire_of(message);
    all.push_back(bytes_of({wire.data(), wire.size()}));
  }
  return all;
}

}  // namespace muster::fuzz
