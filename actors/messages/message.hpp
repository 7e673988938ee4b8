// How a message is declared: a struct whose `fields` lists what travels, and a line that makes CAF read it.
// CAF is not included: a rule that decides by a message needs to know nothing of actors.
#pragma once

#include <tuple>

// The bodies are compiled once, in messages.cpp: each file that sends a message would compile them anew.
#ifdef MUSTER_MESSAGE_BODIES
#include "actors/messages/message_bodies.hpp"
#else
#define MUSTER_MESSAGE(Type) \
  template <class Inspector> \
  typename Inspector::result_type inspect(Inspector& f, Type& x);
#endif
