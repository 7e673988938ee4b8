#include "actors/sources/idx.hpp"

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <utility>

#include "actors/sources/idx_file.hpp"
#include "muster/error.hpp"
#include "muster/fingerprint.hpp"

namespace muster {
namespace {

/// The value of each of the 256 pixels.
using PixelTable = std::array<float, 256>;

PixelTable pixel_table(double mean, double deviation) {
  PixelTable table;
  for (std::size_t pixel = 0; pixel < table.size(); ++pixel) {
    table[pixel] = static_cast<float>((static_cast<double>(pixel) / 255.0 - mean) / deviation);
  }
  return table;
}

class IdxSource : public IndexedSource {
 public:
  IdxSource(IdxFile images, IdxFile labels, const PixelTable& table)
      : images_(std::move(images)),
        labels_(std::move(labels)),
        table_(table),
        image_bytes_(std::size_t{images_.extents[1]} * images_.extents[2]),
        fields_{{DType::float32, {1, images_.extents[1], images_.extents[2]}}, {DType::int64, {}}} {}

  std::uint64_t size() const override { return images_.extents[0]; }

  const std::vector<Field>& fields() const override { return fields_; }

  void read(std::uint64_t index, Row row) override {
    const std::uint8_t* pixels = images_.data.data() + index * image_bytes_;
    std::byte* out = row[0].data();
    for (std::size_t i = 0; i < image_bytes_; ++i) {
      std::memcpy(out + i * sizeof(float), &table_[pixels[i]], sizeof(float));
    }
    const std::int64_t label = labels_.data[index];
    std::memcpy(row[1].data(), &label, sizeof label);
  }

  std::uint64_t resident_bytes() const override { return images_.data.capacity() + labels_.data.capacity(); }

  std::string fingerprint() const override {
    Fingerprint print;
    print.add("idx");
    for (const auto extent : images_.extents) print.add(std::uint64_t{extent});
    print.add(std::as_bytes(std::span(table_)));
    print.add(std::as_bytes(std::span(images_.data)));
    print.add(std::as_bytes(std::span(labels_.data)));
    return print.hex();
  }

 private:
  IdxFile images_;
  IdxFile labels_;
  PixelTable table_;
  std::size_t image_bytes_;
  std::vector<Field> fields_;
};

std::unique_ptr<Source> read_pair(const Options& options, const std::string& which, const PixelTable& table) {
  const auto& images_path = option<std::string>(options, which + "_images");
  const auto& labels_path = option<std::string>(options, which + "_labels");
  const std::string labels_key = "data." + which + "_labels";
  IdxFile images = read_idx_file(images_path, 3, "data." + which + "_images");
  IdxFile labels = read_idx_file(labels_path, 1, labels_key);
  if (images.extents[0] != labels.extents[0]) {
    throw JobError(labels_key, labels_path + " has " + std::to_string(labels.extents[0]) + " labels, but " +
                                   images_path + " has " + std::to_string(images.extents[0]) + " images");
  }
  return std::make_unique<IdxSource>(std::move(images), std::move(labels), table);
}

bool has_test(const Options& options) {
  const bool images = !option<std::string>(options, "test_images").empty();
  const bool labels = !option<std::string>(options, "test_labels").empty();
  if (images == labels) return images;
  const std::string missing = images ? "test_labels" : "test_images";
  const std::string given = images ? "test_images" : "test_labels";
  throw JobError("data." + missing, "is missing: data." + given + " is given, and the two belong together");
}

}  // namespace

std::vector<OptionSpec> idx_options() {
  std::vector<OptionSpec> specs;
  const auto declare = [&specs](const char* key, OptionType type, const char* help) -> OptionSpec& {
    OptionSpec& spec = specs.emplace_back();
    spec.key = key;
    spec.type = type;
    spec.help = help;
    return spec;
  };
  declare("train_images", OptionType::path, "IDX file of the training images, plain or gzip");
  declare("train_labels", OptionType::path, "IDX file of the training labels, one for each image");
  declare("test_images", OptionType::path,
          "IDX file of the test images; without it the model is not evaluated")
      .default_value.emplace(std::string());
  declare("test_labels", OptionType::path, "IDX file of the test labels; required with `test_images`")
      .default_value.emplace(std::string());
  declare("mean", OptionType::number, "subtracted from each pixel, after scaling to 0 to 1")
      .default_value.emplace(0.0);
  auto& deviation =
      declare("std", OptionType::number, "divisor of each pixel, after subtracting `mean`; above 0");
  deviation.default_value.emplace(1.0);
  deviation.minimum = 0.0;
  return specs;
}

Dataset make_idx(const Options& options) {
  const double mean = option<double>(options, "mean");
  const double deviation = option<double>(options, "std");
  if (!std::isfinite(mean)) throw JobError("data.mean", "must be a finite number");
  if (!std::isfinite(deviation) || deviation <= 0)
    throw JobError("data.std", "must be a finite number above 0");
  const PixelTable table = pixel_table(mean, deviation);
  const bool tests = has_test(options);
  Dataset data;
  data.train = read_pair(options, "train", table);
  if (tests) data.test = read_pair(options, "test", table);
  return data;
}

}  // namespace muster
