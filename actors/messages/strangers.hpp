// What an actor that can be reached from other processes makes of messages that its interface does not name,
// and of errors: it says so, and goes on. CAF's own way is to answer the first with an error, and to end an
// actor that receives one: a peer of another version, or a message cut short on its way, would end the
// coordinator without a message.
#pragma once

#include <string>
#include <utility>

#include <caf/all.hpp>

namespace muster {

/// `refuse` takes the reason, for people; called on the actor's thread.
template <class Self, class Refuse>
void refuse_strangers(Self self, Refuse refuse) {
  constexpr std::size_t kShownMax = 200;  // letters of a message
  self->set_default_handler(
      [refuse](caf::scheduled_actor*, caf::message_view& view) -> caf::result<caf::message> {
        refuse("a message that nobody sends here: " + view.content().stringify().substr(0, kShownMax));
        return caf::delegated<caf::message>{};  // no answer: an error would end whoever does not expect it
      });
  self->set_error_handler([self, refuse](caf::scheduled_actor*, caf::error& error) {
    refuse("an error from another process: " + self->system().render(error));
  });
}

}  // namespace muster
