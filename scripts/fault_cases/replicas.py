"""Cases: a replica dies, freezes, leaves or comes."""
import signal
import tempfile
import time

from fault_cases.run import LONG, PATIENT, STEPS, Case, Run, by_hand, expect, kept_in, launched, sockets_of, until

ONE_STEP = ("--set", "train.batch=750")  # an epoch: one step of 6,000 samples, so that it takes long
# Two steps, then an evaluation of 10,000 samples. Each step is told of.
SHORT_EPOCHS = ("--set", "data.take=256", "--set", "report.progress_every=1 steps")


def kill(*replicas):
    def act(run):
        run.first_epoch()
        run.kill(*replicas)
        run.event("recovered")
    return act


def two_in_a_row(run):
    run.first_epoch()
    run.kill(3)
    run.event("recovered")
    run.kill(1)
    run.event("recovered")


def first_step(run):
    run.formed()
    run.kill(2)
    expect(run.event("lost")["step"] == 1, "the kill did not come within the first step")


def evaluation(run):
    run.event("progress", step=4)  # the last step before the second evaluation
    run.kill(2)
    step = run.event("lost")["step"]
    expect(step == 5, f"the kill came within step {step}, not within the evaluation after step 4")


def while_it_writes(run):
    run.formed()
    run.event("checkpoint")  # the next one is being written already
    run.kill(0)
    run.event("recovered")
    run.event("checkpoint")  # another one goes on with them


def checkpoint(given):
    with tempfile.TemporaryDirectory() as kept:
        return launched(while_it_writes, *kept_in(kept), "--set", "checkpoint.every=1 steps")(given)


def stop_for_a_moment(run):
    run.first_epoch()
    run.kill(1, blow=signal.SIGSTOP)
    time.sleep(0.5)  # the length of the fault
    run.kill(1, blow=signal.SIGCONT)
    run.goes_on()
    expect(all(event["event"] != "lost" for event in run.seen), "it was lost within the patience")


def stop_until_it_is_lost(run):
    run.first_epoch()
    run.kill(1, blow=signal.SIGSTOP)
    run.event("lost", replica=1)
    run.kill(1, blow=signal.SIGCONT)


def sigterm(run):
    run.first_epoch()
    run.kill(1, blow=signal.SIGTERM)
    run.event("left", replica=1)


def join(run, where):
    """One comes; the run is far from its end, so that it does not matter who is quicker."""
    run.event("epoch", epoch=1)
    run.join(where)
    run.event("view", members=4)


def donor_dies(run, where):
    """The member that feeds the newcomer is killed: another one feeds it. No member is added while one stands still."""
    run.event("epoch", epoch=1)
    run.kill(0, blow=signal.SIGSTOP)
    before = sockets_of(run.pids[2])  # the last replica gives its state
    newcomer = run.join(where)
    until(lambda: sockets_of(run.pids[2]) > before, "connection of the newcomer to its donor")
    run.kill(2)
    run.event("lost", replica=2)
    is_member = any(event["event"] == "joined" and event["pid"] == newcomer.pid for event in run.seen)
    expect(not is_member, "the newcomer is a member already")
    run.kill(0, blow=signal.SIGCONT)
    run.event("joined", pid=newcomer.pid)


def kill_while_recovering(run):
    """A second replica dies before the view without the first one can begin: another member stands still until then."""
    run.first_epoch()
    run.kill(1, blow=signal.SIGSTOP)
    run.kill(3)
    run.event("lost", replica=3)
    run.kill(0)
    run.event("lost", replica=0)
    run.kill(1, blow=signal.SIGCONT)
    run.event("recovered")
    expect(all(event.get("replica") != 1 for event in run.seen if event["event"] == "lost"), "it stood still for too long")


def kill_all_but_one(run):
    run.first_epoch()
    run.kill(0, 2, 3)
    run.event("recovered")


def everything(given):
    """Kills all, then goes on with another number of replicas."""
    with tempfile.TemporaryDirectory() as kept:
        folder = [*kept_in(kept), "--set", "checkpoint.every=20 steps"]
        run = Run(given, *folder)
        try:
            run.first_epoch()
            run.event("checkpoint")
            run.process.kill()
            run.process.wait()
        finally:
            run.end()
        run = Run(given, "--resume", *folder, command=("run", "--replicas", "2"))
        try:
            expect(run.event("resumed")["step"] >= STEPS, "it began before the end of the first epoch")
            return run.finish()
        finally:
            run.end()


CASES = [
    *(Case(f"kill-{name}", launched(kill(replica))) for replica, name in enumerate(("first", "second", "third", "last"))),
    Case("two-in-a-row", launched(two_in_a_row)),
    Case("two-at-once", launched(kill(1, 2))),
    Case("all-but-one", launched(kill_all_but_one)),
    Case("while-recovering", launched(kill_while_recovering)),
    Case("first-step", launched(first_step, *ONE_STEP), ONE_STEP),
    Case("evaluation", launched(evaluation, *SHORT_EPOCHS), SHORT_EPOCHS),
    Case("checkpoint", checkpoint),
    Case("stop-short", launched(stop_for_a_moment, *PATIENT)),
    Case("stop-long", launched(stop_until_it_is_lost)),
    Case("sigterm", launched(sigterm)),
    Case("join", by_hand(join, *LONG), LONG),
    Case("donor-dies", by_hand(donor_dies, *LONG, *PATIENT), LONG),
    Case("everything-then-resume", everything),
]
