// Who connects while descriptors are scarce.
#include "actors/node/control_door.hpp"

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <unistd.h>

#include <vector>

namespace muster {
namespace {

/// A socket that listens, and clients that have connected to it.
class ControlDoor : public ::testing::Test {
 protected:
  ControlDoor() {
    ::getrlimit(RLIMIT_NOFILE, &before_);
    address_.sin_family = AF_INET;
    address_.sin_addr.s_addr = ::htonl(INADDR_LOOPBACK);
    EXPECT_EQ(::bind(listener_, generic(), sizeof address_), 0);
    EXPECT_EQ(::listen(listener_, 8), 0);
    socklen_t size = sizeof address_;
    EXPECT_EQ(::getsockname(listener_, generic(), &size), 0);
  }
  ~ControlDoor() override {
    ::setrlimit(RLIMIT_NOFILE, &before_);
    for (const int descriptor : opened_) ::close(descriptor);
  }

  int connected() {
    const int client = open();
    EXPECT_EQ(::connect(client, generic(), sizeof address_), 0);
    return client;
  }
  int accept() {
    int accepted = -1;
    accepts_ = accept_.try_accept(accepted, listener_);
    if (accepted >= 0) opened_.push_back(accepted);
    return accepted;
  }
  /// The process may open the next `free` numbers, and no more.
  void allow(int free) {
    const int next = ::fcntl(listener_, F_DUPFD, 0);
    ::close(next);
    const rlimit limit{static_cast<rlim_t>(next + free), before_.rlim_max};
    ASSERT_EQ(::setrlimit(RLIMIT_NOFILE, &limit), 0);
  }
  /// Whether the other side has ended it.
  static bool has_ended(int client) {
    char letter = 0;
    return ::recv(client, &letter, 1, MSG_DONTWAIT) == 0;
  }

  std::shared_ptr<OpenSockets> sockets_ = std::make_shared<OpenSockets>();
  std::vector<std::string> told_;
  ControlAccept accept_{sockets_, [this](const std::string& text) { told_.push_back(text); }};
  bool accepts_ = false;

 private:
  int open() {
    opened_.push_back(::socket(AF_INET, SOCK_STREAM | SOCK_CLOEXEC, 0));
    return opened_.back();
  }
  sockaddr* generic() { return reinterpret_cast<sockaddr*>(&address_); }

  rlimit before_{};
  std::vector<int> opened_;
  sockaddr_in address_{};
  const int listener_ = open();
};

TEST_F(ControlDoor, LetsInWhileThereAreEnough) {
  connected();
  allow(ControlAccept::kReserved + 1);
  EXPECT_GE(accept(), 0);
  EXPECT_TRUE(told_.empty());
}

TEST_F(ControlDoor, TurnsAwayWhoWouldTakeAReservedOneAndSaysSoOnce) {
  const int first = connected(), second = connected();
  allow(ControlAccept::kReserved);
  EXPECT_EQ(accept(), -1);
  EXPECT_EQ(accept(), -1);
  EXPECT_TRUE(accepts_) << "somebody was there";
  EXPECT_TRUE(has_ended(first));
  EXPECT_TRUE(has_ended(second));
  ASSERT_EQ(told_.size(), 1u);
  EXPECT_NE(told_[0].find("ulimit -n"), std::string::npos) << told_[0];
  allow(ControlAccept::kReserved + 8);
  connected();
  EXPECT_GE(accept(), 0);
  allow(0);
  accept();
  EXPECT_EQ(told_.size(), 1u) << "again, soon after";
}

TEST_F(ControlDoor, WhereNoneIsLeftNobodyIsAccepted) {
  connected();
  allow(0);
  EXPECT_EQ(accept(), -1);
  EXPECT_FALSE(accepts_);
  EXPECT_EQ(told_.size(), 1u);
}

TEST_F(ControlDoor, WhoHasSaidNothingMakesRoom) {
  const int silent = connected(), speaks = connected();
  const int of_silent = accept(), of_speaker = accept();
  sockets_->add(of_silent);
  sockets_->add(of_speaker);
  sockets_->heard(of_speaker);
  sockets_->shut_down_unheard(std::chrono::hours(1));
  EXPECT_FALSE(has_ended(silent)) << "it has only just come";
  sockets_->shut_down_unheard(std::chrono::milliseconds(0));
  EXPECT_TRUE(has_ended(silent));
  EXPECT_FALSE(has_ended(speaks));
}

}  // namespace
}  // namespace muster
