// The message page: every message and actor interface, in the order in which they occur: the whole system.
//
// Each message: who sends it to whom; what the receiver owes; by when. "Within the node" marks messages that
// never leave their process: they hold pointers. Gradients and micro-batches between nodes are frames of the
// data plane (transport/frame.hpp), never messages.
//
// What is told is plain C++; only interfaces.hpp and message_ids.hpp make messages of it.
#pragma once

#include <caf/all.hpp>

// What messages are made of: names, members, views; micro-batches and their positions.
#include "actors/messages/item.hpp"
#include "actors/messages/view.hpp"

// 1. Coming together, and every change of who takes part.
#include "actors/messages/view_messages.hpp"

// Whether every node reaches every other one.
#include "actors/messages/reach_messages.hpp"

// 2. A step, within one node.
#include "actors/messages/step_messages.hpp"

// 3. Telling others: events, progress, signs of life.
#include "actors/messages/report_messages.hpp"

// 4. States: checkpoints, what a newcomer is given, whether all hold the same bits.
#include "actors/messages/bits_messages.hpp"
#include "actors/messages/checkpoint_messages.hpp"
#include "actors/messages/transfer_messages.hpp"

// 5. Failure and the end.
#include "actors/messages/end_messages.hpp"

// 6. A run is asked how it stands.
#include "actors/messages/status_messages.hpp"

// Who receives which.
#include "actors/messages/interfaces.hpp"

// What CAF must know; needs the messages above.
#include "actors/messages/message_ids.hpp"
