#include "tests/simulation/program/canaries.hpp"

#include <sstream>

#include "base/canary.hpp"

namespace muster {

namespace {

std::string& chosen() {
  static std::string name;
  return name;
}

}  // namespace

#ifdef MUSTER_CANARY
bool canary(std::string_view name) {
  return name == chosen();
}
#endif

namespace simulation {

namespace {

#ifdef MUSTER_CANARY
const std::vector<Canary> kCanaries = {
    {"old-view", "5", "frames of another view are taken for those of this one", "no-talk-short,local-error"},
    {"keeps-going", "5,9", "a member reports its view as closed, and goes on taking its records"},
    {"closes-at-once", "9", "a view counts as closed while its frames are still under way"},
    {"records-one-high", "3", "a member reports one record more than it holds"},
    {"least-records", "3,11", "the next view goes on from what one member holds, not from the most"},
    {"applies-twice", "2,3", "a record that was transferred is applied twice"},
    {"revoked-memory-counts", "9", "a sum of memory that its owner had taken back is used", "pause-long"},
    {"folds-early", "9,11", "a sum is divided before its last part has come"},
    {"caught-up-early", "7", "a newcomer says that it has caught up before it has the state"},
    {"no-journal", "6,11", "views are not in the journal"},
    {"forgets-debt", "1,3", "deferred micro-batches do not come back"},
    {"no-backup", "11", "new parameters go out before the buddy has the gradient"},
    {"no-state-copy", "11", "a step is over although the buddy of a shard's replica has not its new state"},
    {"keeps-old-state", "2", "what a shard left out in a step is forgotten"},
    {"stops-without-state", "8", "a run that is told to end writes no last checkpoint"},
    {"refused-write-is-lost", "8,11", "a checkpoint that the disk refuses is not written again"},
    {"damaged-words-count", "5,11", "frames and reports with a flipped bit are taken for good",
     "damaged-frame"},
    {"not-finite-counts", "3", "a step whose numbers are not finite counts as one that was done",
     "not-finite"},
    {"journal-full-fails", "11", "a journal that cannot be written once ends the run"},
    {"local-error-ends-all", "8,11", "an error of one replica ends the run for all"},
    {"installing-has-no-deadline", "11", "a member that no greeting reaches holds up a view for good"},
    {"pid-is-identity", "11",
     "a process of another host is taken for the child with the same pid that has ended", "join,crash"},
    {"no-weight-hash", "2", "nobody compares the weights"},
    {"no-audit", "2", "no gradient is computed twice"},
    {"keeps-wrong-results", "8",
     "nobody goes back before steps with wrong gradients, and their checkpoints stay"},
    {"verdicts-are-forgotten", "8",
     "a replica that was away while all went back keeps checkpoints with wrong results"},
    {"held-back-gives-nothing", "11", "the last one that is to leave gives its state to no newcomer",
     "leave,join"},
    {"going-back-is-forgotten", "8",
     "a coordinator that is started anew takes a checkpoint of steps that the run has gone back before"},
    {"doubt-waits", "8",
     "a run in which two have unlike gradients goes back only when it is known who is wrong: never, if "
     "that "
     "one is right from then on"},
    {"abandoned-steps-count", "8",
     "checkpoints of steps that a run has gone back before count where only parts were lost"},
    {"told-before-it-is-marked", "8",
     "that all go back is told before their wrong checkpoints are marked: who is killed then goes on from "
     "one",
     "odd-later,crash-two,coordinator-crash,kill-all"},
    {"other-order", "1,2",
     "every reader takes the samples of later epochs in another order than the job fixes"},
    {"newcomers-hold-nothing", "11",
     "a run whose last members are lost fails, though newcomers were given its state", "join,crash,leave"},
    {"standstill-is-charged", "11",
     "time in which a node, or the coordinator, did not run counts as lateness and silence of others",
     "suspend"},
    {"node-standstill-is-silence", "8",
     "a node that is to leave takes the coordinator for gone when both have stood still",
     "suspend,leave-all"},
    {"loaders-not-watched", "11", "no loader is lost for standing still, nor for a broken link",
     "freeze-loader,loader-link"},
    {"hangs-unseen", "11", "a replica that hangs where nobody waits for it in a round is never lost",
     "freeze-for-good"},
    {"hangs-move-on", "11", "a micro-batch at which one replica after the other hangs does not end the run",
     "hang-everywhere"},
    {"standing-has-no-end", "11",
     "where no replica works, or one that is needed does not, the run has no end",
     "freeze-for-good,hang-everywhere"},
    {"misfit-ends-all", "11", "one that does not fit the others ends a run that has not begun",
     "join-unlike"},
    {"pause-without-loader-ends-run", "11",
     "a run without loaders ends for one replica that cannot read, though the others can",
     "join-without-data,crash-loaders"},
    {"ports-untried", "7,11", "a newcomer is taken in that some members cannot reach", "join-walled"},
    {"keeping-waits-as-usual", "8",
     "who hangs while the state is kept is waited for as long as at other times",
     "freeze-for-good,told-to-end"},
    {"leavers-wait-for-journal", "11", "a view that waits for its journal keeps all waiting who are to leave",
     "journal-full,leave-all,crash"},
    {"loader-installed-early", "5", "a loader says that it has installed a view before it can take demands"},
    {"demand-asked-once", "11", "a demand that was lost is not asked again", "lost-demands"},
    {"unlike-checkpoint", "2,8", "a checkpoint holds another optimizer than its replica"},
    {"adopting-admits-all", "7,9,11",
     "a coordinator that was started anew lets newcomers in that it cannot compare"},
    {"journal-knows-best", "8,11",
     "a coordinator with an older journal does not learn of newer views and terms",
     "coordinator-old-journal"},
    {"no-fencing", "5,6", "a coordinator goes on although another one has taken its journal over",
     "coordinator-second"},
    {"gone-is-damaged", "8,11", "a checkpoint that no replica finds is given up for an older one",
     "disk-away,odd-later"},
    {"folder-is-not-waited-for", "8",
     "a view goes back although the folder of checkpoints cannot be listed now",
     "disk-away,odd-later,coordinator-crash"},
    {"reads-once", "8,11", "a checkpoint whose folder cannot be reached for a moment is given up",
     "disk-away,odd-later,coordinator-crash"},
    {"cannot-go-back-is-lost", "11",
     "who cannot read the checkpoint that all go back to is lost, also where nobody can"},
    {"no-self-doubt", "11", "a coordinator that hears nobody takes all for dead"},
    {"majority-is-lost", "11", "a majority that falls silent at once is not waited for",
     "coordinator-cut-half,coordinator-cut-two"},
    {"no-spare-folder", "11", "a last checkpoint that its disk refuses goes nowhere else",
     "disk-full,disk-refuses"},
    {"verdict-beats-state", "5",
     "a coordinator that gave up without a message from anybody lets its journal say that the run has ended",
     "coordinator-gives-up"},
    {"unheard-are-told", "8",
     "a run that is told to end while it hears nobody leaves them a message that ends them when the link is "
     "good",
     "coordinator-cut-off,told-to-end"},
    {"untold-is-no-member", "11",
     "a node that was not told of the first view ends with the coordinator that began it"},
    {"orphan-keeps-nothing", "8",
     "who finds no coordinator any more ends without a checkpoint of what it holds", "coordinator-late"},
    {"start-has-no-end", "11", "a run waits for ever for nodes that are started by hand", "crash,join"},
    {"closed-is-reason-enough", "12",
     "a child whose connection is closed is lost before it is known how it has ended", "crash"},
    {"cut-off-is-alive", "11,12",
     "a view is made with a child whose connection is closed, for it is not known yet how it has ended",
     "crash,crash-two,join"},
    {"leaver-waits-for-ever", "11",
     "a node that is to leave waits for good for a coordinator that does not answer",
     "leave-all,coordinator-stands"},
    {"hung-disk-keeps-all", "8,11", "a last checkpoint whose disk does not answer goes nowhere else",
     "disk-hangs,told-to-end"},
    {"returns-have-little-time", "11",
     "members have 5 s to come back to a coordinator that was started anew"},
    {"pause-has-no-patience", "11", "a run that waits for nodes gives up at once", "cut-off-long,pause-long"},
    {"one-that-hangs-ends-all", "11", "one replica that hangs ends the run",
     "freeze-for-good,freeze-replica"},
    {"one-loss-keeps-nothing", "8", "a run that has lost a replica keeps no state when it is told to end",
     "crash,restart,told-to-end"},
    {"grace-is-short", "8", "a last checkpoint has a fiftieth of checkpoint.grace",
     "told-to-end,disk-hangs,freeze-disk"},
    {"loss-before-the-start-ends-all", "11",
     "a node that is lost before the first step ends the run, also where it can come again",
     "crash,coordinator-pause"},
    {"waiter-is-late", "11", "who waits for one that is late is lost in its place", "slow-replica,clog"},
    {"who-waits-is-to-blame", "11", "who waits for the sums of one that is late is lost in its place"},
    {"one-end-is-owed", "11", "a last checkpoint is forgotten while an older one is tried again"},
    {"both-ends-go", "11", "both ends of a broken link are lost", "no-talk-long,sever"},
    {"losses-are-sums", "4", "the report has no mean loss of an epoch"}};
#else
const std::vector<Canary> kCanaries;
#endif

}  // namespace

const std::vector<Canary>& canaries() {
  return kCanaries;
}

bool is_found_by(const Canary& canary, int invariant) {
  std::istringstream numbers(canary.invariants);
  for (std::string number; std::getline(numbers, number, ',');) {
    if (number == std::to_string(invariant)) return true;
  }
  return canary.invariants.empty();
}

void switch_on(const std::string& name) {
  chosen() = name;
}

}  // namespace simulation
}  // namespace muster
