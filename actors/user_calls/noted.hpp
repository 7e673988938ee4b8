// Models and sources whose every call is noted while it lasts, and whose exceptions of other types than
// std::exception become Error.
#pragma once

#include <functional>
#include <memory>
#include <string>

#include "actors/user_calls/call_note.hpp"
#include "muster/model.hpp"
#include "muster/source.hpp"

namespace muster {

/// Makes the model or the data of that name. The note must live as long as what is returned.
std::unique_ptr<Model> noted_model(const std::string& name,
                                   const std::function<std::unique_ptr<Model>()>& make,
                                   std::shared_ptr<CallNote> note);
Dataset noted_dataset(const std::string& name, const std::function<Dataset()>& make,
                      std::shared_ptr<CallNote> note);

}  // namespace muster
