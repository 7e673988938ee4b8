// Mistakes in a user's model, source and program: said before anything trains, with exit code and fix, in
// little time.
#include <gtest/gtest.h>
#include <signal.h>

#include <filesystem>
#include <tuple>

#include "tests/cluster/muster_process.hpp"
#include "tests/cluster/refusals.hpp"

namespace muster::user_code_test {
namespace {

using namespace muster::cluster_test;

constexpr const char* kJob =
    "[model]\nname = \"regression\"\n[data]\nsource = \"sums\"\n[train]\nshards = 4\nbatch = 8\n"
    "[cluster]\nreplicas = 2\n[cluster.straggler]\nstuck_after = \"2s\"\n";

Outcome run_broken(const Arguments& sets, const std::string& command = "run", const Arguments& more = {}) {
  const Folder folder;
  Arguments arguments{command, folder.write("job.toml", kJob)};
  for (const std::string& set : sets) arguments.insert(arguments.end(), {"--set", set});
  arguments.insert(arguments.end(), more.begin(), more.end());
  MusterProcess process(arguments, {}, "muster_broken");
  const Outcome outcome = process.wait();
  EXPECT_TRUE(process.none_left_within(std::chrono::seconds(5)));
  return outcome;
}

// What takes longer stands in docs/guides/contract.md, and in a user's way.
void expect_said(const Arguments& sets, const std::vector<std::string>& parts) {
  for (const char* command : {"run", "plan", "check"}) {
    const Outcome outcome = run_broken(sets, command);
    EXPECT_EQ(outcome.code, 2) << command << ": " << outcome.err;
    expect_parts(outcome.err, parts);
    EXPECT_EQ(outcome.err.find("joined"), std::string::npos) << outcome.err;
  }
}

TEST(UserCode, WhatKeepsItsContractTrains) {
  const Outcome outcome = run_broken({});
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  expect_parts(run_broken({}, "check").out,
               {"ok        a gradient is a sum over samples", "ok        the gradient is that of the loss",
                "no broken contract"});
  expect_parts(run_broken({}, "check", {"--in-process"}).out, {"no broken contract"});
}

TEST(UserCode, AMeanIsNamedAsAMean) {
  expect_said({"model.flaw=mean"}, {"job.toml:2:8: model.name: ", "0.5 times the sum over its parts: a mean",
                                    "do not divide by the number of samples"});
}

TEST(UserCode, RandomNumbersOfTheirOwnAreNamed) {
  expect_said({"model.flaw=random"}, {"the same call gives the same bits", "not from rand()"});
}

TEST(UserCode, AnotherNumberOfInputsIsSaidOrNamedAsACrash) {
  expect_said({"model.inputs=50"},
              {"model.inputs: ", "samples have another number of inputs (train source, read(0) of 200)"});
  // A model that does not look reads beyond its samples, and has whatever lies there, or crashes.
  expect_said({"model.flaw=crash"},
              {"model.name: gradient() of model 'regression' (step 1, shard 0) was ended by signal 11",
               "before the run", "check JOB --in-process"});
  expect_said({"data.flaw=read-crash"},
              {"job.toml:4:10: data.source: read(0) of source 'sums' was ended by signal 11"});
}

TEST(UserCode, AModelThatTakesOtherInputsAndDoesNotLookIsTold) {
  expect_said({"model.flaw=reads-beyond", "model.inputs=50"},
              {"model.name: breaks the contract 'a model reads its samples, and nothing beside them'",
               "2 float32 in field 0, 1 float32 in field 1", "The job says model.inputs = 50"});
  expect_said({"model.flaw=reads-beyond", "model.inputs=1"},
              {"it uses the first 1 alone", "The job says model.inputs = 1"});
}

TEST(UserCode, LayoutAndFieldsAreNamedAsOtherCallsAre) {
  expect_said({"model.flaw=layout-throw"},
              {"job.toml:2:8: model.name: layout() of model 'regression': no table of layers"});
  expect_said({"data.flaw=fields-throw"},
              {"job.toml:4:10: data.source: fields() of source 'sums': no header line"});
  for (const auto& [flaw, said] :
       {std::pair("model.flaw=layout-hang", "model.name: layout() of model 'regression' has not returned"),
        std::pair("data.flaw=fields-hang", "data.source: fields() of source 'sums' has not returned")}) {
    const Outcome outcome = run_broken({flaw});
    EXPECT_EQ(outcome.code, 2) << flaw;
    expect_parts(outcome.err, {said, "within 6000 ms"});
  }
}

TEST(UserCode, AWrongSignAndAGradientOfNothingAreNamed) {
  Outcome outcome = run_broken({"model.flaw=sign"}, "check");
  EXPECT_EQ(outcome.code, 2);
  expect_parts(outcome.err, {"the wrong sign in all 2 tensors that were tried"});
  outcome = run_broken({"model.flaw=no-gradient"}, "check");
  EXPECT_EQ(outcome.code, 2);
  expect_parts(outcome.err, {"the gradient is 0 in all tensors, but the loss changes with 'w'"});
  outcome = run_broken({"model.flaw=constant"}, "check");
  EXPECT_EQ(outcome.code, 0);
  expect_parts(outcome.out,
               {"left out  the gradient is that of the loss, by finite differences: the gradient "
                "is 0 in all tensors, so that nothing could be tried"});
  EXPECT_EQ(outcome.out.find("ok        the gradient is that of the loss"), std::string::npos) << outcome.out;
}

// Each replica knows it from the record; of a finite loss, who has the shard.
TEST(UserCode, ASampleThatIsNotFiniteIsNamedAndNotTheLearningRate) {
  const auto expect_named = [](Arguments sets, const std::string& value) {
    const Outcome outcome = run_broken(sets, "run", {"--quiet", "--unchecked"});
    EXPECT_EQ(outcome.code, 1) << sets.front();
    expect_parts(outcome.err, {"the data have it: read(137) of source 'sums' gives " + value +
                               " in field 0; correct that sample"});
    EXPECT_EQ(outcome.err.find("train.optimizer.learning_rate"), std::string::npos) << outcome.err;
  };
  expect_named({"data.flaw=read-nan", "cluster.replicas=1"}, "NaN");
  expect_named({"data.flaw=read-inf", "cluster.replicas=3"}, "Inf");
  expect_named({"data.flaw=read-nan", "cluster.replicas=1", "model.flaw=bounded-loss"}, "NaN");
}

TEST(UserCode, ASizeThatLiesIsNamed) {
  expect_said({"data.flaw=size"}, {"read(1000199) of 1000200 fails", "does size() count what is there?"});
}

TEST(UserCode, ColumnsThatAreNotWrittenAreNamed) {
  expect_said({"data.flaw=column-missing"}, {"leaves 4 bytes of field 0 (12 bytes)"});
}

TEST(UserCode, ModelsThatDrawFromTheirKeyTrain) {
  for (const char* manner : {"noise", "dropout", "drops-seldom"})
    EXPECT_EQ(run_broken({std::string("model.flaw=") + manner}).code, 0) << manner;
  const Outcome outcome = run_broken({"model.flaw=noise"}, "check");
  EXPECT_EQ(outcome.code, 0) << outcome.err;
  expect_parts(outcome.out, {"left out  a gradient is a sum over samples: the model draws random numbers"});
}

TEST(UserCode, WhoIsSureRunsWithoutTheCheck) {
  const Outcome refused = run_broken({"model.flaw=mean"});
  EXPECT_EQ(refused.code, 2);
  expect_parts(refused.err, {"`muster check` looks closer, `--unchecked` does without it"});
  EXPECT_EQ(run_broken({"model.flaw=mean"}, "run", {"--unchecked"}).code, 0);
  EXPECT_EQ(run_broken({"model.flaw=two-names"}, "run", {"--unchecked"}).code, 2) << "the layout counts";
  EXPECT_EQ(run_broken({"model.flaw=crash"}, "run", {"--unchecked"}).code, 1) << "in a replica";
}

TEST(UserCode, ExceptionsOfAnyTypeAreNamed) {
  expect_said({"model.flaw=throw"}, {"model.name: ", "no such table"});
  expect_said(
      {"model.flaw=throw-number"},
      {"gradient() of model 'regression' (step 1, shard 0) throws something that is no std::exception"});
  expect_said({"data.flaw=read-throw-number"},
              {"read(0) of source 'sums' throws something that is no std::exception"});
  expect_said({"data.flaw=make-throw"}, {"job.toml:4:10: data.source: making source 'sums': stof"});
}

TEST(UserCode, AReadThatFailsLaterIsNamedWithItsSample) {
  const Outcome outcome = run_broken({"data.flaw=read-throw"}, "run", {"--quiet", "--unchecked"});
  EXPECT_EQ(outcome.code, 1);
  expect_parts(outcome.err, {"read(100) of source 'sums': stof"});
}

TEST(UserCode, ExceptionsOfAnyTypeAreNamedWhereReplicasAreThreads) {
  Outcome outcome = run_broken({"model.flaw=throw-number"}, "run", {"--in-process"});
  EXPECT_EQ(outcome.code, 2);
  expect_parts(outcome.err, {"(step 1, shard 0) throws something that is no std::exception"});
  outcome = run_broken({"model.flaw=throw-number-later"}, "run", {"--in-process", "--quiet"});
  EXPECT_EQ(outcome.code, 1);
  expect_parts(outcome.err, {"(step 3, shard ", ") throws something that is no std::exception"});
}

TEST(UserCode, CallsThatDoNotReturnAreNamed) {
  const char* within = "has not returned within 6000 ms (3 times cluster.straggler.stuck_after)";
  Outcome outcome = run_broken({"model.flaw=hang"});
  EXPECT_EQ(outcome.code, 2);
  expect_parts(outcome.err, {"model.name: gradient() of model 'regression'", within});
  outcome = run_broken({"data.flaw=read-hang"});
  EXPECT_EQ(outcome.code, 2);
  expect_parts(outcome.err, {"data.source: read(0) of source 'sums'", within});
}

// The coordinator's host does not compute, so each node looks for itself.
TEST(UserCode, ANodeThatJoinsChecksItsModelAndItsData) {
  const Folder folder;
  const std::string address = free_address();
  for (const auto& [flaw, said] : {std::pair("model.flaw=mean", "model.name: breaks the contract"),
                                   std::pair("data.flaw=read-random", "data.source: ")}) {
    MusterProcess coordinator(
        {"coordinate", folder.write("job.toml", kJob), "--listen", address, "--set", flaw, "--events", "-"},
        {}, "muster_broken");
    ASSERT_TRUE(coordinator.event("listening").is_object());
    const Outcome outcome = MusterProcess({"join", "--coordinator", address}, {}, "muster_broken").wait();
    EXPECT_EQ(outcome.code, 1) << flaw;
    expect_parts(outcome.err, {said});
    coordinator.signal(SIGINT);
    EXPECT_EQ(coordinator.wait().code, 130);
  }
}

TEST(UserCode, ANodeThatJoinsNamesACallThatCrashesOrHangs) {
  const Folder folder;
  const std::string address = free_address();
  for (const auto& [flaw, said] :
       {std::pair("model.flaw=crash",
                  "model.name: gradient() of model 'regression' (step 1, shard 0) was ended"),
        std::pair("model.flaw=hang", "(step 1, shard 0) has not returned within 6000 ms")}) {
    MusterProcess coordinator(
        {"coordinate", folder.write("job.toml", kJob), "--listen", address, "--set", flaw, "--events", "-"},
        {}, "muster_broken");
    ASSERT_TRUE(coordinator.event("listening").is_object());
    MusterProcess node({"join", "--coordinator", address}, {}, "muster_broken");
    const Outcome outcome = node.wait();
    EXPECT_EQ(outcome.code, 1) << flaw;
    expect_parts(outcome.err, {said});
    EXPECT_TRUE(node.none_left_within(std::chrono::seconds(5)));
    coordinator.signal(SIGINT);
    EXPECT_EQ(coordinator.wait().code, 130);
  }
}

// Nobody reaps it: it says so itself, on its terminal and to the coordinator.
TEST(UserCode, ANodeThatJoinedNamesTheCallInWhichItCrashes) {
  const Folder folder;
  const std::string address = free_address();
  for (const auto& [flaw, signal] :
       {std::pair("wild-pointer-later", "signal 11 (Segmentation fault)"),
        std::pair("recursion-later", "signal 11 (Segmentation fault)"),
        std::pair("abort-later", "signal 6 (Aborted)"), std::pair("terminate-later", "signal 6 (Aborted)")}) {
    MusterProcess coordinator(
        {"coordinate", folder.write("job.toml", kJob), "--listen", address, "--quiet", "--events", "-",
         "--set", std::string("model.flaw=") + flaw, "--replicas", "1", "--report", folder.path("r.json")},
        {}, "muster_broken");
    ASSERT_TRUE(coordinator.event("listening").is_object());
    MusterProcess node({"join", "--coordinator", address, "--unchecked"}, {}, "muster_broken");
    const Outcome outcome = node.wait();
    EXPECT_NE(outcome.code, 0) << flaw;
    const std::string how = "process " + std::to_string(node.pid()) + " was ended by " + signal +
                            " in gradient_in_parts() of model 'regression' (step 3, shard ";
    expect_parts(outcome.err, {"muster join: " + how});
    EXPECT_EQ(coordinator.wait().code, 1);
    expect_parts(read_json(folder.path("r.json"))["reason"], {"replica 0: " + how});
  }
}

// Where user code runs in the process itself a signal waits for it; a second one does not.
TEST(UserCode, ASignalEndsTheRunAfterTheCheckInTheSameProcess) {
  const Folder folder;
  const std::string file = folder.path("go");
  const auto awaited = [&] { return std::filesystem::exists(file + ".awaited"); };
  const auto told = [](const MusterProcess& process) {
    return process.err().find("SIGTERM: ends when the check of model and data is over") != std::string::npos;
  };
  for (const bool twice : {false, true}) {
    std::filesystem::remove(file);
    std::filesystem::remove(file + ".awaited");
    MusterProcess process({"run", folder.write("job.toml", kJob), "--in-process", "--set",
                           "data.flaw=read-waits", "--report", folder.path("r.json")},
                          {{"MUSTER_BROKEN_FILE", file}}, "muster_broken");
    while (!awaited() && process.quiet_for(std::chrono::milliseconds(10))) {
    }
    process.signal(SIGTERM);
    while (!told(process) && process.quiet_for(std::chrono::milliseconds(10))) {
    }
    if (twice) {
      ASSERT_TRUE(process.quiet_for(std::chrono::milliseconds(600)));  // sooner it would be an echo
      process.signal(SIGTERM);
    } else {
      folder.write("go", "");
    }
    const Outcome outcome = process.wait();
    EXPECT_EQ(outcome.code, 143) << outcome.err;
    expect_parts(outcome.err, {"SIGTERM: ends when the check of model and data is over"});
    EXPECT_EQ(std::filesystem::exists(folder.path("r.json")), !twice);
    if (!twice) {
      EXPECT_EQ(read_json(folder.path("r.json"))["outcome"], "interrupted");
    }
    std::filesystem::remove(folder.path("r.json"));
  }
}

// As Ctrl-C does, while a call hangs in the check before the run.
TEST(UserCode, ASignalEndsTheCheckBeforeTheRun) {
  const Folder folder;
  MusterProcess process({"run", folder.write("job.toml", kJob), "--set", "model.flaw=hang", "--set",
                         "cluster.straggler.stuck_after=50s", "--report", folder.path("r.json")},
                        {}, "muster_broken");
  while (process.alive().size() < 2 && process.quiet_for(std::chrono::milliseconds(10))) {
  }
  process.signal(SIGTERM);
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 143) << outcome.err;
  EXPECT_LT(outcome.seconds.count(), 30);
  expect_parts(outcome.err, {"muster: interrupted: SIGTERM"});
  EXPECT_EQ(read_json(folder.path("r.json"))["outcome"], "interrupted");
  EXPECT_TRUE(process.none_left_within(std::chrono::seconds(5)));
}

TEST(UserCode, BatchesBeyondTheDataAndKeysWithoutEffectAreNotices) {
  const Outcome outcome = run_broken({"train.batch=100", "checkpoint.every=5 steps", "train.evaluate=true"});
  EXPECT_EQ(outcome.code, 0);
  expect_parts(outcome.err,
               {"notice: a step takes 400 samples (train.shards 4 x train.batch 100), an epoch has 200",
                "notice: checkpoint.every has no effect: checkpoint.folder is not set",
                "notice: train.evaluate has no effect: the source has no test data"});
}

// What only a later step does no check can find.
TEST(UserCode, WhereAReplicaDiesIsSaidWithStepAndShard) {
  const std::string in = " in gradient_in_parts() of model 'regression' (step 3, shard ";
  for (const auto& [flaw, how] : {std::pair("crash-later", "was ended by signal 11 (Segmentation fault)"),
                                  std::pair("exit-later", "exited with code 9")}) {
    const Outcome outcome = run_broken({std::string("model.flaw=") + flaw}, "run", {"--quiet"});
    EXPECT_EQ(outcome.code, 1) << flaw;
    expect_parts(outcome.err, {"notice: replica ", how + in});
  }
  const Outcome outcome = run_broken({"model.flaw=throw-number-later"}, "run", {"--quiet"});
  EXPECT_EQ(outcome.code, 1);
  expect_parts(outcome.err, {"gradient_in_parts() of model 'regression' (step 3, shard ",
                             ") throws something that is no std::exception"});
}

TEST(UserCode, AProgramThatEndsItselfInACallSaysSoAndDoesNotSucceed) {
  const std::string in = " in gradient_in_parts() of model 'regression' (step 3, shard ";
  for (const char* flaw : {"exit-0-later", "exit-3-later", "quick-exit-later"}) {
    const Outcome outcome = run_broken({std::string("model.flaw=") + flaw}, "run", {"--quiet"});
    EXPECT_EQ(outcome.code, 1) << flaw;
    expect_parts(outcome.err, {"muster: the program called exit()" + in, "exited with code 1" + in});
  }
  Outcome outcome = run_broken({"data.flaw=read-exit-later"}, "run", {"--quiet", "--unchecked"});
  EXPECT_EQ(outcome.code, 1);
  expect_parts(outcome.err, {"the program called exit() in read(100) of source 'sums'"});
  outcome = run_broken({"model.flaw=exit"}, "plan");
  EXPECT_EQ(outcome.code, 2);
  expect_parts(outcome.err,
               {"the program called exit() in gradient() of model 'regression'",
                "model.name: gradient() of model 'regression' (step 1, shard 0) exited with code 1"});
}

TEST(UserCode, ANodeThatJoinsEndsWithAnErrorWhereItsModelCallsExit) {
  const Folder folder;
  const std::string address = free_address();
  MusterProcess coordinator({"coordinate", folder.write("job.toml", kJob), "--listen", address, "--set",
                             "model.flaw=exit-0-later", "--set", "cluster.replicas=1", "--events", "-"},
                            {}, "muster_broken");
  ASSERT_TRUE(coordinator.event("listening").is_object());
  const Outcome outcome = MusterProcess({"join", "--coordinator", address}, {}, "muster_broken").wait();
  EXPECT_EQ(outcome.code, 1) << outcome.err;
  expect_parts(outcome.err,
               {"the program called exit() in gradient_in_parts() of model 'regression' (step 3"});
  coordinator.wait();
}

// As the kernel does it without memory.
TEST(UserCode, WhereTheLastReplicaIsKilledIsTheReasonOfTheFailure) {
  for (int i = 0; i < 5; ++i) {  // its connection is closed before its end can be known
    const Folder folder;
    const std::string file = folder.path("go");
    MusterProcess process(
        {"run", folder.write("job.toml", kJob), "--set", "model.flaw=waits-later", "--set",
         "cluster.replicas=1", "--unchecked", "--quiet", "--events", "-", "--report", folder.path("r.json")},
        {{"MUSTER_BROKEN_FILE", file}}, "muster_broken");
    const auto replicas = process.replicas(1);
    ASSERT_EQ(replicas.size(), 1u);
    while (!std::filesystem::exists(file + ".awaited") && process.quiet_for(std::chrono::milliseconds(10))) {
    }
    ASSERT_EQ(::kill(replicas.at(0), SIGKILL), 0);
    const Json lost = process.event("lost");
    const Outcome outcome = process.wait();
    EXPECT_EQ(outcome.code, 1);
    const std::string how =
        "was ended by signal 9 (Killed) in gradient_in_parts() of model 'regression' (step 3, shard ";
    ASSERT_TRUE(lost.is_object());
    expect_parts(lost["reason"], {how});
    expect_parts(read_json(folder.path("r.json"))["reason"], {"; replica 0 " + how});
    expect_parts(outcome.err, {"notice: replica 0 " + how});
  }
}

// Whatever becomes of it within the grace.
TEST(UserCode, AHangThatIsToldToEndIsAnInterruptedRun) {
  for (const auto& [signal, name, code] :
       {std::tuple(SIGTERM, "SIGTERM", 143), std::tuple(SIGINT, "SIGINT", 130),
        std::tuple(SIGHUP, "SIGHUP", 129)}) {
    const Folder folder;
    const std::string file = folder.path("go");
    MusterProcess process(
        {"run", folder.write("job.toml", kJob), "--set", "model.flaw=exit-when-told", "--set",
         "cluster.straggler.stuck_after=50s", "--set", "checkpoint.folder=" + folder.path("kept"),
         "--unchecked", "--quiet", "--events", "-", "--report", folder.path("r.json")},
        {{"MUSTER_BROKEN_FILE", file}}, "muster_broken");
    while (!std::filesystem::exists(file + ".awaited") && process.quiet_for(std::chrono::milliseconds(10))) {
    }
    process.signal(signal);
    ASSERT_TRUE(process.event("interrupted").is_object());
    folder.write("go", "");
    const Outcome outcome = process.wait();
    EXPECT_EQ(outcome.code, code) << outcome.err;
    const Json report = read_json(folder.path("r.json"));
    EXPECT_EQ(report["outcome"], "interrupted");
    EXPECT_EQ(report["reason"], name);
  }
}

// Each is lost for it, until it is seen that all will be.
TEST(UserCode, ASuccessorThatHangsInTheSameShardEndsTheRun) {
  const Outcome outcome = run_broken({"model.flaw=hang-in-shard", "cluster.replicas=3"}, "run", {"--quiet"});
  EXPECT_EQ(outcome.code, 1);
  expect_parts(outcome.err, {"two replicas have hung at shard 1 of step 3, replica ",
                             ": the model's code does not return there"});
  EXPECT_LT(outcome.seconds.count(), 30);
}

// It looks like a hang, and is none: what was done until then is kept.
TEST(UserCode, ACallThatOnlyTakesLongReturnsInTimeForALastCheckpoint) {
  const Folder folder;
  const Outcome outcome = run_broken(
      {"model.flaw=slow-in-shard", "checkpoint.folder=\"" + folder.path("kept") + "\""}, "run", {"--quiet"});
  EXPECT_EQ(outcome.code, 1);
  expect_parts(outcome.err, {"two replicas have hung at shard 1 of step 3, replica ",
                             "the state is kept in " + folder.path("kept")});
  EXPECT_LT(outcome.seconds.count(), 30);
}

TEST(UserCode, AHangOfAllReplicasIsNamedAndBounded) {
  for (const auto& [flaw, said] :
       {std::pair("model.flaw=hang-later", " has been computing shard 0 of step 3 for "),
        std::pair("data.flaw=read-hang-later", " has been reading data of shard ")}) {
    const Outcome outcome = run_broken({flaw, "cluster.give_up_after=3s"}, "run", {"--quiet"});
    EXPECT_EQ(outcome.code, 1) << flaw;
    expect_parts(outcome.err,
                 {"notice: replica 0", "no replica works, and if none goes on for cluster.give_up_after",
                  said, "no replica has done anything for cluster.straggler.stuck_after and"});
    EXPECT_LT(outcome.seconds.count(), 30) << flaw;
  }
}

TEST(UserCode, AHangInEvaluateIsNamedAndBounded) {
  const Outcome outcome =
      run_broken({"model.flaw=evaluate-hang-later", "data.test_samples=40", "cluster.give_up_after=3s"});
  EXPECT_EQ(outcome.code, 1);
  expect_parts(outcome.err, {" has been evaluating shard ", " after step 7 for ",
                             "no replica has done anything for cluster.straggler.stuck_after and"});
  EXPECT_LT(outcome.seconds.count(), 30);
}

TEST(UserCode, TwoTensorsOfOneNameAreRefused) {
  expect_said({"model.flaw=two-names"}, {"two tensors have the name 'w'"});
}

TEST(UserCode, AProgramWithoutMusterMainStartsNoRunsWithinRuns) {
  MusterProcess process({}, {}, "muster_no_main");
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 3);
  expect_parts(outcome.err, {"is started again for each replica, and does not become one",
                             "return muster::main(argc, argv, registry)"});
  EXPECT_TRUE(process.none_left_within(std::chrono::seconds(5)));
}

TEST(UserCode, AProgramThatNeverComesToMusterMainIsNamed) {
  const Folder folder;
  const std::string job = folder.write("job.toml", kJob);
  MusterProcess process({"run", job, "--set", "cluster.start_patience=1s"}, {{"MUSTER_BROKEN", "stands"}},
                        "muster_broken");
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 2);
  expect_parts(outcome.err, {"has not come to muster::main within 1000 ms (cluster.start_patience)",
                             "return muster::main(argc, argv, registry)"});
  EXPECT_TRUE(process.none_left_within(std::chrono::seconds(5)));
}

TEST(UserCode, AProgramThatTakesTheWordNodeForItsOwnIsNamed) {
  const Folder folder;
  MusterProcess process({"run", folder.write("job.toml", kJob)}, {{"MUSTER_BROKEN", "own-arguments"}},
                        "muster_broken");
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 2);
  expect_parts(outcome.err, {"exited with code 5 before it came to muster::main",
                             "return muster::main(argc, argv, registry)"});
}

TEST(UserCode, ACrashIsNamedThoughTheProgramIgnoresItsChildren) {
  const Folder folder;
  const std::string job = folder.write("job.toml", kJob);
  MusterProcess process({"run", job, "--set", "model.flaw=crash"}, {{"MUSTER_BROKEN", "ignores-children"}},
                        "muster_broken");
  const Outcome outcome = process.wait();
  EXPECT_EQ(outcome.code, 2);
  expect_parts(outcome.err, {"gradient() of model 'regression' (step 1, shard 0) ended (how is not known"});
}

}  // namespace
}  // namespace muster::user_code_test
