// muster events, muster job: the tables behind the program, printed. docs/reference/events.md and
// docs/reference/job.md are their output.
#include <cstdio>
#include <iostream>

#include "actors/events/event.hpp"
#include "cli/job_arguments.hpp"
#include "config/schema/schema.hpp"

namespace muster::cli {

namespace {

int print_reference(const std::string& command, const std::string& usage, const Arguments& arguments,
                    const std::string& markdown, const std::string& plain) {
  po::options_description options("Options");
  options.add_options()("markdown", "as the page in docs/")("help", "this text");
  int code = kCompleted;
  const auto given = parse(command, usage, arguments, options, nullptr, code);
  if (!given) return code;
  std::cout << (given->count("markdown") ? markdown : plain);
  return kCompleted;
}

std::string events_text() {
  std::string text;
  for (const EventSpec& spec : event_table()) {
    text += spec.name + ": " + spec.meaning + "\n";
    for (const EventFieldSpec& field : spec.fields) text += "    " + field.key + ": " + field.meaning + "\n";
  }
  return text;
}

}  // namespace

int events_command(const Arguments& arguments, const Registry&) {
  return print_reference("events",
                         "Usage: muster events [--markdown]\n\nPrints all events, with their fields.\n",
                         arguments, events_markdown(), events_text());
}

int job_command(const Arguments& arguments, const Registry& registry) {
  return print_reference("job",
                         "Usage: muster job [--markdown]\n\nPrints all keys of the job file, with what they "
                         "may be, their defaults and what they do.\n",
                         arguments, job_reference_markdown(registry.declarations()),
                         job_reference_text(registry.declarations()));
}

}  // namespace muster::cli
