#include "actors/trainer/node_data.hpp"

#include <gtest/gtest.h>

#include "muster/error.hpp"
#include "muster/registry.hpp"
#include "tests/support/linear_job.hpp"

namespace muster {
namespace {

class NodeDataTest : public ::testing::Test {
 protected:
  NodeData data_of(const Job& job) {
    return NodeData(job, [this, source = job.data] {
      ++opened_;
      if (fails_) throw Error("the folder is away");
      return builtin_registry().make_source(source.source, source.options);
    });
  }

  Job job_ = testing::linear_job({.samples = 40});
  int opened_ = 0;
  bool fails_ = false;
};

TEST_F(NodeDataTest, OpensOnceWhenItIsAskedFor) {
  NodeData data = data_of(job_);
  EXPECT_FALSE(data.is_open());
  EXPECT_EQ(opened_, 0);
  data.reader();
  data.reader();
  EXPECT_TRUE(data.is_open());
  EXPECT_EQ(opened_, 1);
}

TEST_F(NodeDataTest, OpensAgainAfterItWasClosed) {
  NodeData data = data_of(job_);
  const Item before = data.reader().read(0, {});
  data.close();
  EXPECT_FALSE(data.is_open());
  const Item again = data.reader().read(0, {});
  EXPECT_EQ(opened_, 2);
  EXPECT_EQ(before.range, again.range);
  EXPECT_EQ(before.batch->rows, again.batch->rows);
}

TEST_F(NodeDataTest, WhatCannotBeOpenedMayBeTriedAgain) {
  NodeData data = data_of(job_);
  fails_ = true;
  EXPECT_THROW(data.reader(), Error);
  EXPECT_FALSE(data.is_open());
  fails_ = false;
  data.reader();
  EXPECT_TRUE(data.is_open());
}

TEST_F(NodeDataTest, TellsWhatIsKnownOfTheData) {
  job_.data.take = 100;
  NodeData data = data_of(job_);
  data.reader();
  const DataFacts facts = data.facts();
  EXPECT_EQ(facts.samples, 40);
  EXPECT_FALSE(facts.unit_is_batch);
  EXPECT_EQ(facts.take_asked, 100);
  EXPECT_EQ(facts.take_had, 40);
  EXPECT_EQ(facts.steps_per_epoch, *data.reader().steps_per_epoch());
  EXPECT_NE(facts.fingerprint.find(data.sources().train->fingerprint()), std::string::npos);
}

}  // namespace
}  // namespace muster
