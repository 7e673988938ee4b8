// Models and sources whose every call is noted while it lasts, and whose exceptions of other types than
// std::exception become Error.
#pragma once

#include <memory>
#include <string>

#include "muster/actors/contract/call_note.hpp"
#include "muster/actors/pipeline/source.hpp"
#include "muster/gpu/model.hpp"

namespace muster {

/// Runs `call` under the note `what`.
template <class Call>
auto noted(CallNote* note, const std::string& what, Call&& call) -> decltype(call());

std::unique_ptr<Model> noted_model(std::unique_ptr<Model> model, const std::string& name,
                                   std::shared_ptr<CallNote> note);
Dataset noted_dataset(Dataset data, const std::string& name, std::shared_ptr<CallNote> note);

/// An exception that is no std::exception, as an Error that names the call.
[[noreturn]] void throw_unknown(const std::string& call);

template <class Call>
auto noted(CallNote* note, const std::string& what, Call&& call) -> decltype(call()) {
  const CallNote::Scope scope(note, what);
  try {
    return call();
  } catch (const std::exception&) {
    throw;
  } catch (...) {
    throw_unknown(what);
  }
}

}  // namespace muster
