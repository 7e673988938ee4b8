// A model and a source that each break one promise of their contracts, by the name of the flaw, or keep them
// all in a way of their own, by the name of the manner.
#pragma once

#include <atomic>
#include <chrono>
#include <cmath>
#include <csignal>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <limits>
#include <memory>
#include <random>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#include "muster/error.hpp"
#include "muster/model.hpp"
#include "muster/random.hpp"
#include "muster/source.hpp"

namespace muster::broken {

/// As a bad pointer does it, past the handlers of sanitizers and UCX.
inline void crash() {
  std::signal(SIGSEGV, SIG_DFL);
  std::raise(SIGSEGV);
}

/// Says that it waits by a file beside it, FILE.awaited.
inline void wait_for_file(const std::string& file) {
  std::ofstream(file + ".awaited");
  while (!std::filesystem::exists(file)) std::this_thread::yield();
}

/// As bad pointers, and recursions without an end, do it.
inline void write_anywhere() {
  const volatile std::uintptr_t where = 8;
  *reinterpret_cast<volatile int*>(where) = 1;
}
// A frame is far smaller than the page that guards a stack: none reaches beyond it, into the next thread's.
inline int recurse(int depth) {
  const volatile int room[32] = {depth};
  return depth == 0 ? 0 : recurse(depth - 1) + room[0];
}

/// Least squares of one number by `inputs` others: y = w x + b.
class Regression : public Model {
 public:
  Regression(std::string flaw, std::size_t inputs) : flaw_(std::move(flaw)), inputs_(inputs) {
    const auto columns = static_cast<std::int64_t>(inputs);
    layout_.add_parameter("w", {columns});
    layout_.add_parameter(has("two-names") ? "w" : "b", {1});
    if (has("gap")) ++layout_.entries[1].offset;
  }

  const Layout& layout() const override {
    if (has("layout-throw")) throw std::runtime_error("no table of layers");
    while (has("layout-hang")) std::this_thread::yield();
    return layout_;
  }

  void initialize(std::uint64_t seed, std::span<float> state) override {
    std::random_device anything;
    SplitMix64 random(has("random-start") ? anything() : seed);
    for (float& value : state.first(state.size() - (has("start-unwritten") ? 1 : 0)))
      value = random.next_signed_unit();
  }

  double weight(const Batch& batch) const override {
    if (has("masked")) return 0;
    return has("weight") ? 1 : batch.rows;
  }

  void check_batch(const Batch& batch) const override {
    if (batch.tensors[0].as<float>().size() == std::size_t{batch.rows + batch.padding} * inputs_) return;
    if (!has("reads-beyond")) throw JobError("model.inputs", "samples have another number of inputs");
  }

  Metrics gradient(std::span<const float> state, const Batch& batch, const StepKey& key,
                   std::span<float> gradient) override {
    misbehave(key);
    if (has("fours") && batch.rows != 4) throw std::runtime_error("this model takes four samples");
    const float kept = gradient.back();
    if (!has("adds")) std::ranges::fill(gradient, 0.0F);
    const std::uint32_t rows = has("padding") ? batch.rows + batch.padding : batch.rows;
    Metrics metrics;
    for (std::uint32_t row = 0; row < rows && !has("masked"); ++row)
      add(metrics, state, batch, row, gradient, drawn(key, row));
    spoil(state, metrics, gradient, batch.rows, kept, key);
    return metrics;
  }

  Metrics gradient_in_parts(std::span<const float> state, const Batch& batch, const StepKey& key,
                            std::span<float> gradient, const PartReady& ready) override {
    const Metrics metrics = this->gradient(state, batch, key, gradient);
    ready(inputs_, 1);
    if (!has("part-missing")) ready(0, inputs_);
    if (has("part-twice")) ready(0, 1);
    return metrics;
  }

  Metrics evaluate(std::span<const float> state, const Batch& batch) override {
    while (has("evaluate-hang-later") && has_trained_) std::this_thread::yield();
    Metrics metrics;
    std::vector<float> unused(layout_.total());
    for (std::uint32_t row = 0; row < batch.rows; ++row) add(metrics, state, batch, row, unused, {});
    if (has("evaluate-mean")) metrics.loss /= batch.rows;
    if (has("evaluate-correct-mean")) metrics.correct = 1;
    if (has("evaluate-random")) metrics.loss += 1e-3 * ++calls_;
    return metrics;
  }

 private:
  bool has(const char* flaw) const { return flaw_ == flaw; }

  // What does not return as it should.
  void misbehave(const StepKey& key) {
    if (key.step == 3) has_trained_ = true;
    if (has("crash-later") && key.step == 3) crash();
    if (has("exit-later") && key.step == 3) std::_Exit(9);
    if (has("exit-0-later") && key.step == 3) std::exit(0);
    if (has("exit-3-later") && key.step == 3) std::exit(3);
    if (has("quick-exit-later") && key.step == 3) std::quick_exit(0);
    if (has("exit")) std::exit(0);
    if (key.step == 3) end_process();
    if (has("throw-number-later") && key.step == 3) throw 42;
    if (has("throw")) throw std::runtime_error("no such table");
    if (has("throw-number")) throw 42;
    if (has("crash")) crash();
    while (has("hang")) std::this_thread::yield();
    while (has("hang-later") && key.step == 3) std::this_thread::yield();
    while (has("hang-in-shard") && key.step == 3 && key.shard == 1) std::this_thread::yield();
    const auto until = std::chrono::steady_clock::now() + std::chrono::milliseconds(3500);
    while (has("slow-in-shard") && key.step == 3 && key.shard == 1 &&
           std::chrono::steady_clock::now() < until)
      std::this_thread::yield();
    if (has("one-thread") && std::this_thread::get_id() != made_by_)
      throw std::runtime_error("this thread does not know the model");
  }

  // Or what waits until it is told to.
  void end_process() const {
    if (has("wild-pointer-later")) write_anywhere();
    if (has("recursion-later")) recurse(100'000'000);
    if (has("abort-later")) std::abort();
    if (has("terminate-later")) std::thread([] { throw std::runtime_error("no such table"); }).join();
    if (has("waits-later")) wait_for_file(std::getenv("MUSTER_BROKEN_FILE"));
    if (has("exit-when-told")) {
      wait_for_file(std::getenv("MUSTER_BROKEN_FILE"));
      std::_Exit(9);
    }
  }

  // What a step's random numbers do to a sample.
  struct Drawn {
    float keep = 1;  // of its inputs
    float noise = 0;
  };

  // From the key alone, as the contract allows.
  Drawn drawn(const StepKey& key, std::uint32_t row) const {
    const auto random = [&](std::uint64_t of) { return SplitMix64(mix(of, row)).next_signed_unit(); };
    if (has("dropout") || has("dropout-mean")) return {random(mix(key.seed, key.step)) > 0 ? 2.0F : 0.0F, 0};
    if (has("noise")) return {1, 20 * random(mix(key.seed, key.step))};
    if (has("drops-seldom")) return {random(mix(key.seed, key.step)) > -0.8F ? 1.0F : 0.0F, 0};
    if (has("draws-by-epoch")) return {1, random(mix(key.seed, key.epoch))};
    if (has("draws-by-seed")) return {1, random(mix(key.seed, key.shard))};
    return {};
  }

  void add(Metrics& metrics, std::span<const float> state, const Batch& batch, std::uint32_t row,
           std::span<float> gradient, const Drawn& drawn) const {
    const float* x = batch.tensors[0].as<float>().data() + row * inputs_;
    float error = state[inputs_] - batch.tensors[1].as<float>()[row] + drawn.noise;
    for (std::size_t i = 0; i < inputs_; ++i) error += state[i] * drawn.keep * x[i];
    const float grad = has("kink") ? (error < 0 ? -1.0F : 1.0F) : 2 * error;
    for (std::size_t i = 0; i < inputs_; ++i) gradient[i] += grad * drawn.keep * x[i];
    gradient[inputs_] += has("rounds-to-nothing") ? 1e-6F * error : grad;
    metrics.loss += has("kink") ? std::abs(error) : error * error;
    if (has("bounded-loss")) metrics.loss = std::min(1e6, metrics.loss);  // 1e6, not NaN, of a NaN
  }

  void spoil(std::span<const float> state, Metrics& metrics, std::span<float> gradient, std::uint32_t rows,
             float kept, const StepKey& key) {
    const auto scale = [&](float factor) {
      for (float& value : gradient) value *= factor;
    };
    if (has("in-turn") && key.step % 2 == 0) metrics.loss *= 2;  // two losses in turn, as GANs have
    if (has("mean") || has("dropout-mean")) {
      scale(1.0F / static_cast<float>(rows));
      metrics.loss /= rows;
    }
    if (has("loss-mean")) metrics.loss /= rows;
    if (has("factor")) scale(2.0F);
    if (has("factor-of-b")) gradient.back() *= 3;
    if (has("sign")) scale(-1.0F);
    if (has("no-gradient") || has("constant")) scale(0.0F);
    if (has("constant")) metrics.loss = 1.0 * rows;
    if (has("mixes")) scale(std::sqrt(static_cast<float>(rows)));
    if (has("unwritten")) gradient.back() = kept;
    if (has("nan")) gradient[0] = std::numeric_limits<float>::quiet_NaN();
    if (has("inf")) metrics.loss = std::numeric_limits<double>::infinity();
    if (has("nan-alone") && rows < 4) gradient[0] = std::numeric_limits<float>::quiet_NaN();
    if (has("answers-mean")) metrics.correct = 0.75;
    if (has("beyond")) gradient.data()[gradient.size()] = 1;
    if (has("changes-state")) const_cast<float&>(state[0]) += 1;
    if (has("random")) gradient[0] += static_cast<float>(std::rand() % 1000) * 1e-6F;
    if (has("remembers")) gradient[0] += 1e-3F * static_cast<float>(++calls_ > 1 ? std::min(calls_, 3) : 1);
    static const auto first = std::this_thread::get_id();
    if (has("thread") && std::this_thread::get_id() != first) gradient[0] += 1e-3F;
  }

  const std::string flaw_;
  const std::size_t inputs_;
  const std::thread::id made_by_ = std::this_thread::get_id();
  Layout layout_;
  int calls_ = 0;
  inline static std::atomic<bool> has_trained_ = false;  // this process has, beyond what a check computes
};

/// Two inputs and their sum.
class Sums : public IndexedSource {
 public:
  Sums(std::string flaw, std::uint64_t samples) : flaw_(std::move(flaw)), samples_(samples) {
    fields_ = {{DType::float32, {has("column-missing") ? 3 : 2}}, {DType::float32, {}}};
    if (has("no-fields")) fields_.clear();
    if (has("make-throw")) std::stof("a header line");
    if (has("shape")) fields_[0].shape = {-2};
  }

  std::string fingerprint() const override {
    if (has("fingerprint-empty")) return "";
    return "sums" + std::to_string(has("fingerprint-changes") ? ++asked_ : 0);
  }
  std::uint64_t size() const override { return has("size") ? samples_ + 1'000'000 : samples_; }
  const std::vector<Field>& fields() const override {
    if (has("fields-throw")) throw std::runtime_error("no header line");
    while (has("fields-hang")) std::this_thread::yield();
    return fields_;
  }

  void read(std::uint64_t index, Row row) override {
    if (index >= samples_) throw std::out_of_range("vector::at: " + std::to_string(index));
    if (has("read-crash")) crash();
    if (has("read-throw-number")) throw 42;
    if (has("read-throw") && index == samples_ / 2) std::stof("no number");
    while (has("read-hang")) std::this_thread::yield();
    if (has("read-exit-later") && index == samples_ / 2) std::exit(0);
    while (has("read-hang-later") && index == samples_ / 2) std::this_thread::yield();
    if (has("read-waits")) wait_for_file(std::getenv("MUSTER_BROKEN_FILE"));
    SplitMix64 random(has("read-random") ? mix(index, ++asked_) : index);
    const float sample[] = {random.next_signed_unit(), random.next_signed_unit()};
    const float sum = sample[0] + sample[1];
    std::memcpy(row[0].data(), sample, sizeof sample);
    if (has("read-nan") && index == 137) {
      const float nan = std::numeric_limits<float>::quiet_NaN();
      std::memcpy(row[0].data() + sizeof nan, &nan, sizeof nan);
    }
    if (has("read-inf") && index == 137) {
      const float inf = std::numeric_limits<float>::infinity();
      std::memcpy(row[0].data() + sizeof inf, &inf, sizeof inf);
    }
    std::memcpy(row[1].data(), &sum, sizeof sum);
    if (has("read-beyond")) row[1].data()[sizeof sum] = std::byte{1};
  }

 private:
  bool has(const char* flaw) const { return flaw_ == flaw; }

  const std::string flaw_;
  const std::uint64_t samples_;
  std::vector<Field> fields_;
  mutable std::uint64_t asked_ = 0;
};

}  // namespace muster::broken
