#include "actors/run/progress_file.hpp"

#include <cerrno>
#include <cstring>
#include <fstream>
#include <limits>
#include <optional>
#include <span>
#include <utility>

#include <nlohmann/json.hpp>

#include "gpu/files/file_io.hpp"
#include "muster/error.hpp"

namespace muster {

namespace {

using Json = nlohmann::ordered_json;

double milliseconds_of(ProgressFile::Time time) {
  return std::chrono::duration<double, std::milli>(time.time_since_epoch()).count();
}

std::string line_of(const ProgressRow& row) {
  return Json{{"unix_ms", row.time_ms},
              {"epoch", row.epoch},
              {"step", row.step},
              {"samples", row.samples},
              {"loss", row.loss},
              {"learning_rate", row.learning_rate},
              {"samples_per_second", row.samples_per_second},
              {"gradient_norm", row.gradient_norm}}
             .dump() +
         "\n";
}

// Of a loss that is NaN JSON has null.
double number_of(const Json& value) {
  return value.is_null() ? std::numeric_limits<double>::quiet_NaN() : value.get<double>();
}

std::optional<ProgressRow> row_of(const std::string& line) {
  try {
    const Json json = Json::parse(line);
    return ProgressRow{json.at("unix_ms"),
                       json.at("epoch"),
                       json.at("step"),
                       json.at("samples"),
                       number_of(json.at("loss")),
                       number_of(json.at("learning_rate")),
                       number_of(json.at("samples_per_second")),
                       number_of(json.at("gradient_norm"))};
  } catch (const Json::exception&) {
    return std::nullopt;
  }
}

}  // namespace

ProgressFile::ProgressFile(std::filesystem::path path, Time began,
                           std::function<void(const std::string&)> on_failure)
    : path_(std::move(path)), began_ms_(milliseconds_of(began)), on_failure_(std::move(on_failure)) {
  read();
}

void ProgressFile::read() {
  std::ifstream file(path_);
  bool torn = false;  // the last line, by a crash
  for (std::string line; std::getline(file, line); ++lines_) {
    torn = file.eof();
    if (const auto row = row_of(line)) rows_.keep(*row);
  }
  if (torn) lines_ = kLinesMax;  // nothing is put behind it
  const MutexLock lock(mutex_);
  before_ = rows_.all();
}

void ProgressFile::report(const Event& event) {
  if (event.name == "resumed" || event.name == "restarted" || event.name == "returned") {
    const MutexLock lock(mutex_);
    goes_on_ = true;
  }
  if (event.name != "progress") return;
  if (!std::exchange(begun_, true)) forget();
  append(progress_row(event));
}

// Only a run that goes on has had progress before.
void ProgressFile::forget() {
  const MutexLock lock(mutex_);
  if (goes_on_) return;
  before_.clear();
  rows_ = {};
  lines_ = kLinesMax;  // made anew
}

void ProgressFile::append(ProgressRow row) {
  row.time_ms += began_ms_;
  rows_.keep(row);
  if (failed_) return;
  try {
    if (lines_ >= kLinesMax) return write_anew();
    std::ofstream file(path_, std::ios::app);
    file << line_of(row) << std::flush;
    if (!file) throw Error(path_.string() + ": " + std::strerror(errno));
    ++lines_;
  } catch (const Error& error) {
    failed_ = true;
    on_failure_(error.what());
  }
}

void ProgressFile::write_anew() {
  std::string text;
  for (const ProgressRow& row : rows_.all()) text += line_of(row);
  const auto bytes = std::as_bytes(std::span(text));
  replace_file(path_, std::span(&bytes, 1));
  lines_ = rows_.all().size();
}

std::vector<ProgressRow> ProgressFile::all(const std::vector<ProgressRow>& now, std::uint64_t steps) const {
  ProgressRows rows;
  {
    const MutexLock lock(mutex_);
    for (ProgressRow row : goes_on_ ? before_ : std::vector<ProgressRow>{}) {
      row.time_ms -= began_ms_;
      if (row.step <= steps) rows.keep(row);
    }
  }
  for (const ProgressRow& row : now) rows.keep(row);
  return rows.all();
}

}  // namespace muster
