// The reference of the job file, made from the schema: as Markdown and as plain text.
#include <algorithm>

#include "base/text.hpp"
#include "config/schema/exclusions.hpp"
#include "config/schema/schema.hpp"

namespace muster {
namespace {

// One line of the reference, whatever it comes from.
struct Line {
  std::string key;
  std::string allowed;
  std::string default_value;  // code between backquotes
  std::string help;
};

struct Section {
  std::string title;  // "[train]"
  std::string about;
  std::vector<Line> lines;
};

Line line_of(const Key& key) {
  std::string help = key.help;
  if (!key.selector.empty()) {
    help += " Only with `" + leaf_of(key.selector) + "` " + any_of_text(quoted_all(key.selected_by)) + ".";
  }
  const std::string excluded = excluded_by(key.path);
  if (!excluded.empty()) help += " Incompatible with " + excluded + ".";
  return {leaf_of(key.path), allowed_text(key.value), default_text(key), help};
}

Line line_of(const OptionSpec& option) {
  const std::string value =
      option.default_value ? '`' + option_text(*option.default_value) + '`' : "none, must be given";
  return {option.key, allowed_text(value_spec(option)), value, option.help};
}

std::vector<Section> key_sections() {
  std::vector<Section> sections{{"Top of the file", "", {}}};
  std::string table;
  for (const Key& key : job_keys()) {
    if (table_of(key.path) != table) {
      table = table_of(key.path);
      sections.push_back({"[" + table + "]", "", {}});
    }
    sections.back().lines.push_back(line_of(key));
  }
  return sections;
}

void add_options(const std::map<std::string, std::vector<OptionSpec>>& declared, const std::string& table,
                 const std::string& selector, std::vector<Section>& sections) {
  for (const auto& [name, options] : declared) {
    const std::string about = options.empty() ? "No options of its own." : "";
    Section section{"[" + table + "] with " + selector + " = " + in_quotes(name), about, {}};
    for (const OptionSpec& option : options) {
      section.lines.push_back(line_of(option));
    }
    sections.push_back(section);
  }
}

std::vector<Section> all_sections(const Declarations& declarations) {
  std::vector<Section> sections = key_sections();
  add_options(declarations.models, "model", "name", sections);
  if (declarations.script) {
    Section section{"[model] with file", "", {}};
    for (const OptionSpec& option : *declarations.script) {
      section.lines.push_back(line_of(option));
    }
    sections.push_back(section);
  }
  add_options(declarations.sources, "data", "source", sections);
  return sections;
}

// A cell of a Markdown table holds no bar.
std::string cell(std::string text) {
  for (std::size_t at = 0; (at = text.find('|', at)) != std::string::npos; at += 2) {
    text.insert(at, 1, '\\');
  }
  return text;
}

std::string without_backquotes(std::string text) {
  text.erase(std::remove(text.begin(), text.end(), '`'), text.end());
  return text;
}

// Which keys a run that goes on from a checkpoint may change.
std::string about_resuming() {
  std::string fixed;
  for (const Key& key : job_keys()) {
    if (key.in_hash == InHash::yes) fixed += (fixed.empty() ? "`" : ", `") + key.path + "`";
  }
  return wrapped(
      "\n## Resuming\n\n`--resume` goes on from the complete checkpoint with the highest step of the same "
      "job. The event `resumed` names those that it skipped.\n\nThe same job is one in which the options "
      "of model and source (all but paths of files), and the keys that fix the mathematics, are as they "
      "were. These keys fix the mathematics: " +
      fixed +
      ". All other keys may change.\n\nSome of the keys above may change, too, with `--accept`: `--resume "
      "--accept train.optimizer.learning_rate` goes on with another learning rate or schedule. The same "
      "holds for the other numbers of the optimizer, `train.clip_norm`, `train.threads`, "
      "`train.precision` and `train.wire`. Without `--accept` the run is refused, and says which keys "
      "differ. But if the folder has checkpoints of this job, too, it goes on from those.\n\nThe content "
      "of `checkpoint.start_from` counts as a key. The new end (`train.epochs`, `train.steps`) must not "
      "lie before the checkpoint. A checkpoint at which `train.steps` ended the run in the middle of an "
      "epoch cannot serve a longer run: an earlier one is taken. To be able to extend a run, end it after "
      "whole epochs, or give it more steps than it needs and stop it with SIGTERM.\n");
}

}  // namespace

std::string job_reference_markdown(const Declarations& declarations) {
  std::string page = wrapped(
      "# The job file\n\nA job is one TOML file. Every job needs `data.source`, and one of `model.name`, "
      "`model.file` and `model.library`. Some sources, models and schedules need keys of their own: where "
      "the default is *none, must be given*. All other keys may be left out. On the command line `--set "
      "table.key=value` overrides any key; it cannot remove one. Paths are relative to the folder in which "
      "the command is run. A mistake is shown with its place and the nearest key or value.\n");
  for (const Section& section : all_sections(declarations)) {
    page += "\n## " + section.title + "\n\n";
    if (section.lines.empty()) {
      page += wrapped(section.about) + "\n";
      continue;
    }
    page += "| key | value | default | meaning |\n| --- | --- | --- | --- |\n";
    for (const Line& line : section.lines) {
      page += "| `" + line.key + "` | " + cell(line.allowed) + " | " + cell(line.default_value) + " | " +
              cell(line.help) + " |\n";
    }
  }
  return page + exclusions_markdown() + about_resuming();
}

std::string job_reference_text(const Declarations& declarations) {
  std::string text;
  for (const Section& section : all_sections(declarations)) {
    text += (text.empty() ? "" : "\n") + section.title + "\n";
    if (section.lines.empty()) {
      text += "  " + section.about + "\n";
    }
    for (const Line& line : section.lines) {
      text += "  " + line.key + "\n      " + line.allowed +
              "; default: " + without_backquotes(line.default_value) + "\n      " +
              without_backquotes(line.help) + "\n";
    }
  }
  return text;
}

}  // namespace muster
