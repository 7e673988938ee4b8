#include "cli/job_arguments.hpp"

#include <cstdio>
#include <iostream>

#include "base/nearest.hpp"

namespace muster::cli {

void add_job_options(po::options_description& options) {
  options.add_options()("replicas", po::value<std::string>()->value_name("N"),
                        "same as --set cluster.replicas=N")(
      "set", po::value<std::vector<std::string>>()->value_name("TABLE.KEY=VALUE")->composing(),
      "override a key of the job file; may be given again. The value is TOML; what is not valid TOML is a "
      "string")("help", "this text");
}

namespace {

std::string unknown_option(const std::string& given, const po::options_description& options) {
  std::vector<std::string> names;
  for (const auto& option : options.options()) names.push_back("--" + option->long_name());
  const std::string close = nearest(given, names);
  return "unknown option '" + given + "'" + (close.empty() ? "" : "; did you mean " + close + "?");
}

}  // namespace

std::optional<po::variables_map> parse(const std::string& command, const std::string& usage,
                                       const Arguments& arguments, const po::options_description& options,
                                       const char* positional, int& code) {
  po::options_description all;
  all.add(options);
  po::positional_options_description places;
  if (positional) {
    all.add_options()(positional, po::value<std::string>());
    places.add(positional, 1);
  }
  po::variables_map given;
  try {
    using namespace po::command_line_style;
    po::store(po::command_line_parser(arguments)
                  .options(all)
                  .positional(places)
                  .style(unix_style & ~allow_guessing)
                  .run(),
              given);
    if (!given.count("help")) po::notify(given);  // whoever asks for help need not give what is required
  } catch (const po::unknown_option& error) {
    code = wrong_usage(command, unknown_option(error.get_option_name(), all));
    return std::nullopt;
  } catch (const po::error& error) {
    code = wrong_usage(command, error.what());
    return std::nullopt;
  }
  if (given.count("help")) {
    std::cout << usage << "\n" << options;
    code = kCompleted;
    return std::nullopt;
  }
  if (positional && !given.count(positional)) {
    code = wrong_usage(command, std::string(positional) + " is missing");
    return std::nullopt;
  }
  return given;
}

ParsedJob read_job(const po::variables_map& given, const Registry& registry,
                   const std::vector<std::string>& more_sets) {
  std::vector<std::string> sets;
  if (given.count("set")) sets = given["set"].as<std::vector<std::string>>();
  if (given.count("replicas")) sets.push_back("cluster.replicas=" + given["replicas"].as<std::string>());
  sets.insert(sets.end(), more_sets.begin(), more_sets.end());
  ParsedJob parsed = read_job_file(given["JOB.toml"].as<std::string>(), sets, registry.declarations());
  std::fprintf(stderr, "%s", render(parsed.mistakes).c_str());
  return parsed;
}

}  // namespace muster::cli
