// muster-sim: runs the simulator over many seeds.
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <iostream>
#include <set>
#include <sstream>
#include <thread>

#include <boost/program_options.hpp>

#include "tests/simulation/branches.hpp"
#include "tests/simulation/invariants.hpp"
#include "tests/simulation/plan_file.hpp"
#include "tests/simulation/plan_near.hpp"
#include "tests/simulation/plan_swarm.hpp"
#include "tests/simulation/program/canaries.hpp"
#include "tests/simulation/scale.hpp"
#include "tests/simulation/sources.hpp"
#include "tests/simulation/workers.hpp"

namespace muster::simulation {
namespace {

namespace po = boost::program_options;

constexpr int kGood = 0, kFound = 1, kUsage = 2;

struct Request {
  WorkOptions work;
  PlanOptions plan;
  std::string plan_file;    // instead of seeds
  std::string draw_folder;  // where the plans go, which are not run then
  std::string save_folder;  // where the plans of findings go
  std::optional<PlansNear> near;
  bool trace = false;
  bool all_faults = true;
  std::string canary;
  std::optional<Canary> row;  // of the canary
  std::string repeat;         // what a replay command needs beside the seed
};

Plan plan_of(std::uint64_t seed, const Request& request) {
  return request.near ? request.near->draw(seed) : draw_plan(seed, swarm(seed, request.plan));
}

[[noreturn]] void refuse(const std::string& why) {
  std::fprintf(stderr, "muster-sim: %s\nTry muster-sim --help.\n", why.c_str());
  std::exit(kUsage);
}

std::uint64_t number(const std::string& text, const std::string& of) {
  std::size_t used = 0;
  try {
    const std::uint64_t value = std::stoull(text, &used);
    if (used == text.size() && text[0] != '-') return value;
  } catch (const std::exception&) {
    used = 0;
  }
  refuse(of + " is '" + text + "', not a number");
}

constexpr std::uint64_t kDrawnFrom = 100'000'000, kDrawnRanges = 1'000'000'000;

// A range that nobody has run: `count` seeds from a start far above those that people type.
void draw_seeds(std::uint64_t number, std::uint64_t count, const std::string& from, WorkOptions& work) {
  Dice dice(number);
  work.from = kDrawnFrom + dice.below(kDrawnRanges) * 1000;
  work.to = work.from + count - 1;
  std::printf("Seeds %llu..%llu, drawn from %s\n", static_cast<unsigned long long>(work.from),
              static_cast<unsigned long long>(work.to), from.c_str());
}

std::uint64_t hash_of(const std::string& text) {
  std::uint64_t hash = 0xcbf29ce484222325ull;
  for (const char c : text) hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3ull;
  return hash;
}

void read_seeds(const std::string& text, WorkOptions& work) {
  const std::size_t dots = text.find("..");
  work.from = number(text.substr(0, dots), "--seeds");
  work.to = dots == std::string::npos ? work.from : number(text.substr(dots + 2), "--seeds");
  if (work.from == 0 || work.to < work.from) refuse("--seeds is FROM..TO, from 1 on and upwards");
}

std::vector<std::string> read_faults(const std::string& text) {
  std::vector<std::string> kinds;
  if (text == "none") return kinds;
  std::istringstream in(text);
  for (std::string name; std::getline(in, name, ',');) {
    const auto& table = fault_table();
    if (name != "all" &&
        std::none_of(table.begin(), table.end(), [&](const FaultKind& kind) { return kind.name == name; }))
      refuse("there is no fault '" + name + "'; --list shows all");
    for (const FaultKind& kind : table) {
      if (name == "all" || kind.name == name) kinds.push_back(kind.name);
    }
  }
  return kinds;
}

po::options_description described() {
  po::options_description options("Options");
  options.add_options()("seeds", po::value<std::string>()->value_name("FROM..TO"),
                        "seeds to run, both included; else a range is drawn from the clock, and printed")(
      "seeds-of", po::value<std::string>()->value_name("TEXT"),
      "draw the range from this text: a commit's hash, say")(
      "count", po::value<std::string>()->value_name("N")->default_value("1000"),
      "how many seeds a drawn range has")("plan", po::value<std::string>()->value_name("FILE"),
                                          "run this plan instead of seeds")(
      "near", po::value<std::string>()->value_name("FOLDER"),
      "draw each plan near one of the *.plan there: the same job and faults at other times")(
      "save", po::value<std::string>()->value_name("FOLDER"), "write the plan of each finding there")(
      "draw", po::value<std::string>()->value_name("FOLDER"),
      "write the plan of each seed there, and run none")(
      "nodes", po::value<std::string>()->value_name("N"),
      "replicas of every run; else drawn: 1 to 6, in one of 40 runs 7 to 24")(
      "faults", po::value<std::string>()->value_name("LIST")->default_value("all"),
      "what may go wrong: names with commas between them, \"all\" or \"none\"")(
      "trace", "tell each run as a readable story; for one seed")(
      "workers", po::value<std::string>()->value_name("N"), "processes; else one a core")(
      "findings", po::value<std::string>()->value_name("N")->default_value("5"), "stop after so many")(
      "canary", po::value<std::string>()->value_name("NAME"),
      "switch a deliberate bug on; exit code 0 if it is found. Only in muster-sim-canary")(
      "scale", po::value<std::string>()->value_name("LIST"),
      "instead: one short run of each of so many replicas (64,256,1024), a tenth of which dies; prints what "
      "it cost")("list", "print the faults, the branches and the invariants")("help", "this text");
  return options;
}

void read_range(const po::variables_map& given, WorkOptions& work) {
  const std::uint64_t count = number(given["count"].as<std::string>(), "--count");
  if (count == 0) refuse("--count is at least 1");
  if (given.count("seeds")) return read_seeds(given["seeds"].as<std::string>(), work);
  if (given.count("seeds-of")) {
    const std::string text = given["seeds-of"].as<std::string>();
    return draw_seeds(hash_of(text), count, text, work);
  }
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  draw_seeds(static_cast<std::uint64_t>(now.count()), count, "the clock", work);
}

void print_list() {
  std::printf("Faults\n");
  for (const FaultKind& kind : fault_table())
    std::printf("  %-16s %s\n", kind.name.c_str(), kind.meaning.c_str());
  std::printf("\nBranches that a run of %llu seeds must see; those with * one of %llu\n",
              static_cast<unsigned long long>(kAllBranchesFrom),
              static_cast<unsigned long long>(kCommonBranchesFrom));
  for (const Branch& branch : branch_table())
    std::printf("  %c %s\n", branch.common ? '*' : ' ', branch.name.c_str());
  if (!canaries().empty()) std::printf("\nCanaries\n");
  for (const Canary& canary : canaries())
    std::printf("  %-16s %s; found by invariant %s%s%s\n", canary.name.c_str(), canary.bug.c_str(),
                canary.invariants.c_str(), canary.faults.empty() ? "" : "; --faults ", canary.faults.c_str());
  std::printf("\nInvariants\n");
  for (const auto& [invariant, meaning] : invariant_list())
    std::printf("  %2d  %s\n", invariant, meaning.c_str());
}

Request read(const po::variables_map& given) {
  Request request;
  for (const auto& [name, folder] :
       {std::pair("plan", &request.plan_file), std::pair("draw", &request.draw_folder),
        std::pair("save", &request.save_folder)}) {
    if (given.count(name)) *folder = given[name].as<std::string>();
  }
  if (request.plan_file.empty()) read_range(given, request.work);
  if (given.count("near")) {
    const std::string folder = given["near"].as<std::string>();
    request.near.emplace(folder);
    request.repeat += " --near " + folder;
  }
  const std::string faults = given["faults"].as<std::string>();
  request.plan.faults = read_faults(faults);
  request.all_faults = faults == "all" && !request.near;
  if (faults != "all") request.repeat += " --faults " + faults;
  if (given.count("nodes")) {
    const std::string nodes = given["nodes"].as<std::string>();
    request.plan.nodes = static_cast<std::uint32_t>(number(nodes, "--nodes"));
    if (*request.plan.nodes < 1 || *request.plan.nodes > 64) refuse("--nodes is from 1 to 64");
    request.all_faults = false;
    request.repeat += " --nodes " + nodes;
  }
  request.work.workers = std::max(1u, std::thread::hardware_concurrency());
  if (given.count("workers"))
    request.work.workers = static_cast<unsigned>(number(given["workers"].as<std::string>(), "--workers"));
  request.work.findings_max = number(given["findings"].as<std::string>(), "--findings");
  if (given.count("canary")) {
    request.canary = given["canary"].as<std::string>();
    const auto known = std::ranges::find(canaries(), request.canary, &Canary::name);
    if (known == canaries().end())
      refuse("this program has no canary '" + request.canary + "'; --list shows all");
    request.row = *known;
    switch_on(request.canary);
    if (given["findings"].defaulted()) request.work.findings_max = 1;
    request.repeat += " --canary " + request.canary;
  }
  request.trace = given.count("trace") > 0;
  if (request.trace) request.work.workers = 1;
  if (request.trace) std::cout << std::unitbuf;  // a check that fails ends it at once
  return request;
}

void print_findings(const Summary& summary, const Request& request) {
  for (const Finding& finding : summary.findings) {
    const auto meaning = invariant_list().find(finding.wrong.invariant);
    std::printf("FAILED seed %llu: invariant %d (%s): %s\n  replay: %s --seeds %llu%s --trace\n",
                static_cast<unsigned long long>(finding.seed), finding.wrong.invariant,
                meaning == invariant_list().end() ? "?" : meaning->second.c_str(), finding.wrong.what.c_str(),
                request.canary.empty() ? "muster-sim" : "muster-sim-canary",
                static_cast<unsigned long long>(finding.seed), request.repeat.c_str());
    const Plan plan = plan_of(finding.seed, request);
    if (!request.save_folder.empty())
      std::printf("  plan: %s\n", save_plan(plan, finding.wrong.what, request.save_folder).c_str());
    else if (request.canary.empty())
      std::printf("  plan: %s\n", to_json_line(plan).c_str());
  }
}

void print_summary(const Summary& summary, double wall_s) {
  for (const auto& [what, times] : summary.tally.counts())
    std::printf("%10llu  %s\n", static_cast<unsigned long long>(times), what.c_str());
  std::printf("%llu runs in %.1f s: %.0f a second; %.1f virtual hours, %llu deliveries, trace %016llx\n",
              static_cast<unsigned long long>(summary.runs), wall_s,
              static_cast<double>(summary.runs) / std::max(wall_s, 1e-9),
              std::chrono::duration<double, std::ratio<3600>>(summary.virtual_time).count(),
              static_cast<unsigned long long>(summary.deliveries),
              static_cast<unsigned long long>(summary.hash));
}

int draw_only(const Request& request) {
  for (std::uint64_t seed = request.work.from; seed <= request.work.to; ++seed)
    std::printf("%s\n", save_plan(plan_of(seed, request), "", request.draw_folder).c_str());
  return kGood;
}

int run_one_plan(const Request& request) {
  const Plan plan = read_plan_file(request.plan_file).plan;
  const RunResult result = run_plan(plan, simulation_registry(), request.trace ? &std::cout : nullptr);
  std::printf("%s: trace %016llx, %llu deliveries\n", request.plan_file.c_str(),
              static_cast<unsigned long long>(result.hash),
              static_cast<unsigned long long>(result.deliveries));
  if (!result.wrong) return kGood;
  std::printf("FAILED plan %s: invariant %d: %s\n", request.plan_file.c_str(), result.wrong.invariant,
              result.wrong.what.c_str());
  return kFound;
}

std::string found_by(int invariant) {
  return "invariant " + std::to_string(invariant);
}

// Which invariants have caught it, and which have found something that does not count.
int tell_of_canary(const Canary& canary, const Summary& summary, double wall_s) {
  std::set<int> by;
  for (const Finding& finding : summary.findings) {
    if (is_found_by(canary, finding.wrong.invariant)) by.insert(finding.wrong.invariant);
  }
  std::string text = by.empty() ? "NOT CAUGHT" : "caught";
  for (const int invariant : by) text += (invariant == *by.begin() ? " by " : ", ") + found_by(invariant);
  for (const auto& [invariant, meaning] : invariant_list()) {
    if (const auto times = summary.tally.of(found_by(invariant)); times > 0)
      text += "; " + std::to_string(times) + " findings of " + found_by(invariant) + " do not count";
  }
  std::printf("canary %s: %s, after %llu runs in %.1f s\n", canary.name.c_str(), text.c_str(),
              static_cast<unsigned long long>(summary.runs), wall_s);
  return by.empty() ? kFound : kGood;
}

int run(const Request& request) {
  if (!request.plan_file.empty()) return run_one_plan(request);
  if (!request.draw_folder.empty()) return draw_only(request);
  const Registry registry = simulation_registry();
  const auto began = std::chrono::steady_clock::now();
  const Summary summary = run_seeds(request.work, [&](std::uint64_t seed) {
    RunResult result =
        run_plan_checked(plan_of(seed, request), registry, request.trace ? &std::cout : nullptr);
    std::cout.flush();  // the worker that tells the story ends without
    if (request.row && result.wrong && !is_found_by(*request.row, result.wrong.invariant)) {
      result.tally.count(found_by(result.wrong.invariant));
      result.wrong = {};
    }
    return result;
  });
  const double wall_s = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  if (request.canary.empty()) print_summary(summary, wall_s);
  print_findings(summary, request);
  if (request.row) return tell_of_canary(*request.row, summary, wall_s);
  const std::vector<std::string> unseen =
      request.all_faults ? unseen_branches(summary.tally, summary.runs) : std::vector<std::string>{};
  for (const std::string& name : unseen)
    std::printf("FAILED: never seen in %llu runs: %s\n", static_cast<unsigned long long>(summary.runs),
                name.c_str());
  return summary.findings.empty() && unseen.empty() ? kGood : kFound;
}

int program(int argc, char** argv) {
  const po::options_description options = described();
  po::variables_map given;
  try {
    using namespace po::command_line_style;
    po::store(po::command_line_parser(argc, argv).options(options).style(unix_style & ~allow_guessing).run(),
              given);
    po::notify(given);
  } catch (const po::error& error) {
    refuse(error.what());
  }
  if (given.count("help")) {
    std::cout << "Usage: muster-sim [--seeds FROM..TO | --seeds-of TEXT | --plan FILE] [--nodes N] [--faults "
                 "LIST] [--trace]\n\n"
                 "Runs whole clusters in one process and in virtual time, each drawn from one seed, with\n"
                 "faults, and checks the invariants of the design. Exit code 1: something is wrong.\n\n"
              << options;
    return kGood;
  }
  if (given.count("list")) return print_list(), kGood;
  if (given.count("scale")) {
    std::istringstream sizes(given["scale"].as<std::string>());
    std::vector<std::uint32_t> replicas;
    for (std::string size; std::getline(sizes, size, ',');)
      replicas.push_back(static_cast<std::uint32_t>(number(size, "--scale")));
    return show_scale(replicas) ? kGood : kFound;
  }
  try {
    return run(read(given));
  } catch (const std::runtime_error& error) {
    refuse(error.what());
  }
}

}  // namespace
}  // namespace muster::simulation

int main(int argc, char** argv) {
  return muster::simulation::program(argc, argv);
}
