#include "tests/unit/gpu/operations.hpp"

#include "muster/error.hpp"

namespace muster::test {
namespace {

using Device = std::shared_ptr<ComputeDevice>;

constexpr elements::SgdFactors kSgd{0.05F, 1e-3F, 0.9F};

elements::AdamFactors adam_factors() {
  elements::AdamFactors f;
  f.beta1 = 0.9F;
  f.rest1 = static_cast<float>(1 - 0.9);
  f.beta2 = 0.999F;
  f.rest2 = static_cast<float>(1 - 0.999);
  f.epsilon = 1e-8F;
  f.decay = 0.01F;
  f.shrink = 0.9995F;
  f.step_size = 0.0173F;
  f.root_scale = 0.0447F;
  return f;
}

/// An operand in the device's memory, as far behind an aligned place as it is to be.
template <class T>
class Placed {
 public:
  Placed(const Device& device, const std::vector<T>& values, std::size_t beyond)
      : device_(device), all_(device, values.size() + beyond), beyond_(beyond) {
    device->copy_in(std::span<const T>(values), span());
    device->synchronize();  // `values` may go
  }
  Placed(const Device& device, std::size_t count, std::size_t beyond)
      : Placed(device, std::vector<T>(count), beyond) {}

  std::span<T> span() const { return all_.span().subspan(beyond_); }
  std::span<const T> values() const { return span(); }
  std::vector<T> out() const {
    std::vector<T> host(span().size());
    device_->copy_out(values(), std::span(host));
    device_->synchronize();
    return host;
  }

 private:
  Device device_;
  DeviceArray<T> all_;
  std::size_t beyond_;
};

Placed<float> placed(const Device& device, const Operands& o, std::size_t i) {
  return {device, o.values[i], o.beyond[i]};
}

void append(Words& words, const Floats& values) {
  for (const float value : values) words.push_back(word(value));
}
/// out[i] = of(a[i], b[i], c[i], d[i])
template <class Of>
Words each(const Operands& o, const Of& of) {
  Words words;
  for (std::size_t i = 0; i < o.count(); ++i)
    words.push_back(word(of(o.values[0][i], o.values[1][i], o.values[2][i], o.values[3][i])));
  return words;
}

Operation sum_of_two(std::string name, elements::Scale by, bool in_place) {
  return {std::move(name),
          [=](const Device& device, const Operands& o) {
            const auto a = placed(device, o, 0), b = placed(device, o, 1);
            const Placed<float> other(device, o.count(), o.beyond[2]);
            const auto& out = in_place ? a : other;
            device->vectors().add(a.values(), b.values(), by, out.span());
            Words words;
            append(words, out.out());
            return words;
          },
          [=](const Operands& o) {
            return each(o, [&](float a, float b, float, float) {
              return by.divides ? (a + b) / by.factor : (a + b) * by.factor;
            });
          }};
}

Operation scaled(std::string name, elements::Scale by, bool factor_on_device) {
  return {std::move(name),
          [=](const Device& device, const Operands& o) {
            const auto a = placed(device, o, 0);
            const Placed<float> out(device, o.count(), o.beyond[1]);
            const DeviceFloats factor(device, 1);
            device->set(by.factor, factor.data());
            if (factor_on_device) {
              device->vectors().scale_by(a.values(), factor.data(), out.span());
            } else {
              device->vectors().scale(a.values(), by, out.span());
            }
            Words words;
            append(words, out.out());
            return words;
          },
          [=](const Operands& o) {
            return each(
                o, [&](float a, float, float, float) { return by.divides ? a / by.factor : a * by.factor; });
          }};
}

Operation plain_sgd() {
  return {"sgd",
          [](const Device& device, const Operands& o) {
            const auto parameters = placed(device, o, 0), gradient = placed(device, o, 1);
            device->vectors().sgd(kSgd, parameters.span(), gradient.values());
            Words words;
            append(words, parameters.out());
            return words;
          },
          [](const Operands& o) {
            return each(o, [](float parameter, float gradient, float, float) {
              const float grad = gradient + kSgd.decay * parameter;
              return parameter - kSgd.rate * grad;
            });
          }};
}

Operation momentum(std::string name, bool nesterov, bool keeps) {
  return {std::move(name),
          [=](const Device& device, const Operands& o) {
            const auto parameters = placed(device, o, 0), gradient = placed(device, o, 1),
                       velocity = placed(device, o, 2);
            if (keeps) {
              device->vectors().sgd_momentum(kSgd, nesterov, parameters.span(), gradient.values(),
                                             velocity.span());
            } else {
              device->vectors().foretell_sgd_momentum(kSgd, nesterov, parameters.span(), gradient.values(),
                                                      velocity.values());
            }
            Words words;
            append(words, parameters.out());
            append(words, velocity.out());
            return words;
          },
          [=](const Operands& o) {
            Floats parameters = o.values[0], velocities = o.values[2];
            for (std::size_t i = 0; i < o.count(); ++i) {
              const float grad = o.values[1][i] + kSgd.decay * parameters[i];
              const float velocity = kSgd.keep * velocities[i] + grad;
              if (keeps) velocities[i] = velocity;
              parameters[i] -= kSgd.rate * (nesterov ? grad + kSgd.keep * velocity : velocity);
            }
            Words words;
            append(words, parameters);
            append(words, velocities);
            return words;
          }};
}

enum class AdamKind { keeps, foretells };

Words expected_adam(AdamKind kind, const Operands& o) {
  const elements::AdamFactors f = adam_factors();
  Floats parameters = o.values[0], average = o.values[2], square = o.values[3];
  for (std::size_t i = 0; i < o.count(); ++i) {
    const float weight = parameters[i] * f.shrink;
    const float grad = o.values[1][i] + f.decay * weight;
    const float mean = f.beta1 * average[i] + f.rest1 * grad;
    const float variance = f.beta2 * square[i] + f.rest2 * grad * grad;
    if (kind != AdamKind::foretells) {
      average[i] = mean;
      square[i] = variance;
    }
    parameters[i] = weight - f.step_size * mean / (std::sqrt(variance) / f.root_scale + f.epsilon);
  }
  Words words;
  append(words, parameters);
  append(words, average);
  append(words, square);
  return words;
}

Operation adam(std::string name, AdamKind kind) {
  return {std::move(name),
          [=](const Device& device, const Operands& o) {
            const auto parameters = placed(device, o, 0), gradient = placed(device, o, 1),
                       average = placed(device, o, 2), square = placed(device, o, 3);
            if (kind == AdamKind::keeps) {
              device->vectors().adam(adam_factors(), parameters.span(), gradient.values(), average.span(),
                                     square.span());
            } else {
              device->vectors().foretell_adam(adam_factors(), parameters.span(), gradient.values(),
                                              average.values(), square.values());
            }
            Words words;
            append(words, parameters.out());
            append(words, average.out());
            append(words, square.out());
            return words;
          },
          [=](const Operands& o) { return expected_adam(kind, o); }};
}

std::vector<Operation> make_operations() {
  return {sum_of_two("add", {}, false),
          sum_of_two("add_in_place", {}, true),
          sum_of_two("add_times", {0.3F, false}, false),
          sum_of_two("add_divided", {3.0F, true}, false),
          scaled("scale", {0.3F, false}, false),
          scaled("scale_divided", {3.0F, true}, false),
          scaled("scale_by", {0.7F, false}, true),
          plain_sgd(),
          momentum("sgd_momentum", false, true),
          momentum("sgd_nesterov", true, true),
          momentum("foretell_sgd_momentum", false, false),
          momentum("foretell_sgd_nesterov", true, false),
          adam("adam", AdamKind::keeps),
          adam("foretell_adam", AdamKind::foretells)};
}

}  // namespace

const std::vector<Operation>& operations() {
  static const std::vector<Operation> all = make_operations();
  return all;
}

std::vector<std::string> devices_here() {
  static const bool gpu = [] {
    try {
      return make_compute_device("cuda:0") != nullptr;
    } catch (const Error&) {
      return false;
    }
  }();
  if (gpu) return {"cpu", "cuda:0"};
  return {"cpu"};
}

}  // namespace muster::test
