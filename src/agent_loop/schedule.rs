//! The decisions of the loop, apart from everything that waits: small, pure, and tested in full.

use crate::message::StopReason;
use crate::tool::ExecutionMode;

/// What an answer asks for.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterAnswer {
    /// It failed or was aborted: the run ends with this turn, its calls are not run.
    Fail,
    /// It has no calls.
    Rest,
    /// Its calls are run.
    RunBatch,
    /// It was cut at its length: its calls are answered by errors, none is run.
    RefuseBatch,
}

/// What an answer asks for. The presence of calls decides, not the stop reason's word for it.
pub(crate) fn after_answer(stop_reason: StopReason, has_calls: bool) -> AfterAnswer {
    match (stop_reason, has_calls) {
        (StopReason::Error | StopReason::Aborted, _) => AfterAnswer::Fail,
        (_, false) => AfterAnswer::Rest,
        (StopReason::Length, true) => AfterAnswer::RefuseBatch,
        (_, true) => AfterAnswer::RunBatch,
    }
}

/// How a batch runs: one after the other if the run is set so, or if any called tool demands it.
pub(crate) fn batch_mode(
    run: ExecutionMode,
    called: impl IntoIterator<Item = ExecutionMode>,
) -> ExecutionMode {
    let sequential =
        run == ExecutionMode::Sequential || called.into_iter().any(|m| m == ExecutionMode::Sequential);
    if sequential { ExecutionMode::Sequential } else { ExecutionMode::Parallel }
}

/// What the batch of a turn came to.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum BatchOutcome {
    /// There were no calls.
    Empty,
    /// There are results, and the model is to see them.
    Results,
    /// Every call asked to stop.
    Terminated,
}

/// What the batch of a turn came to: it stops the run only if every single call asked for it.
pub(crate) fn batch_outcome(terminate: impl IntoIterator<Item = bool>) -> BatchOutcome {
    let mut calls = terminate.into_iter().peekable();
    if calls.peek().is_none() {
        return BatchOutcome::Empty;
    }
    if calls.all(|terminate| terminate) { BatchOutcome::Terminated } else { BatchOutcome::Results }
}

/// What a hook decided at the end of a turn, as far as scheduling goes.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Finish {
    /// Nothing.
    Default,
    /// One more turn, even if there is nothing to do.
    Continue,
    /// The end.
    End,
}

/// What follows a turn whose answer was usable.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterTurn {
    /// The run ends as a hook decided. No queue is asked.
    EndByHook,
    /// The steering queue is asked, then [`after_steering`] decides.
    PollSteering,
    /// No queue is asked, since the run was aborted; [`after_steering`] decides as if nothing were queued.
    PollNothing,
}

/// What follows a turn whose answer was usable.
pub(crate) fn after_turn(finish: Finish, aborted: bool) -> AfterTurn {
    match (finish, aborted) {
        (Finish::End, _) => AfterTurn::EndByHook,
        (_, true) => AfterTurn::PollNothing,
        (_, false) => AfterTurn::PollSteering,
    }
}

/// What follows when the steering queue has been asked.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum AfterSteering {
    /// Another turn.
    NextTurn,
    /// The follow-up queue is asked; without one, [`after_follow_ups`] decides.
    PollFollowUps,
    /// The run ends.
    End,
}

/// What follows when the steering queue has been asked. After an abort a next turn is only one that would have
/// followed anyway: it holds the aborted answer, and nothing more.
pub(crate) fn after_steering(
    batch: BatchOutcome,
    steered: bool,
    finish: Finish,
    aborted: bool,
) -> AfterSteering {
    if batch == BatchOutcome::Results || steered {
        return AfterSteering::NextTurn;
    }
    match (aborted, finish) {
        (false, _) => AfterSteering::PollFollowUps,
        (true, Finish::Continue) => AfterSteering::NextTurn,
        (true, _) => AfterSteering::End,
    }
}

/// Whether another turn follows when both queues have been asked.
pub(crate) fn after_follow_ups(followed_up: bool, finish: Finish) -> bool {
    followed_up || finish == Finish::Continue
}

/// Whether steering is asked a second time, at the start of a turn: only if nothing has come so far.
pub(crate) fn polls_again(pending: usize, aborted: bool) -> bool {
    pending == 0 && !aborted
}

#[cfg(test)]
mod tests {
    use super::*;

    const FINISHES: [Finish; 3] = [Finish::Default, Finish::Continue, Finish::End];
    const BOTH: [bool; 2] = [false, true];

    #[test]
    fn every_answer_asks_for_exactly_one_thing() {
        use StopReason::{Aborted, Deferred, Error, Length, Pending, Stop, ToolUse};
        let table = [
            (Stop, AfterAnswer::Rest, AfterAnswer::RunBatch),
            (ToolUse, AfterAnswer::Rest, AfterAnswer::RunBatch),
            (Deferred, AfterAnswer::Rest, AfterAnswer::RunBatch),
            (Pending, AfterAnswer::Rest, AfterAnswer::RunBatch),
            (Length, AfterAnswer::Rest, AfterAnswer::RefuseBatch),
            (Error, AfterAnswer::Fail, AfterAnswer::Fail),
            (Aborted, AfterAnswer::Fail, AfterAnswer::Fail),
        ];
        for (reason, without, with) in table {
            assert_eq!(after_answer(reason, false), without, "{reason} without calls");
            assert_eq!(after_answer(reason, true), with, "{reason} with calls");
        }
    }

    #[test]
    fn one_sequential_tool_makes_the_batch_sequential() {
        use ExecutionMode::{Parallel, Sequential};
        assert_eq!(batch_mode(Parallel, []), Parallel);
        assert_eq!(batch_mode(Parallel, [Parallel, Parallel]), Parallel);
        assert_eq!(batch_mode(Parallel, [Parallel, Sequential]), Sequential);
        assert_eq!(batch_mode(Sequential, [Parallel]), Sequential);
    }

    #[test]
    fn a_batch_terminates_only_if_every_call_asks() {
        assert_eq!(batch_outcome([]), BatchOutcome::Empty);
        for calls in 1..=4_u32 {
            for asks in 0..(1_u32 << calls) {
                let terminate = (0..calls).map(|call| asks & (1 << call) != 0);
                let all = asks + 1 == 1 << calls;
                let expected = if all { BatchOutcome::Terminated } else { BatchOutcome::Results };
                assert_eq!(batch_outcome(terminate), expected, "{calls} calls, {asks:b}");
            }
        }
    }

    #[test]
    fn a_hooks_end_beats_everything_and_an_abort_asks_no_queue() {
        for aborted in BOTH {
            assert_eq!(after_turn(Finish::End, aborted), AfterTurn::EndByHook);
            for finish in [Finish::Default, Finish::Continue] {
                let expected = if aborted { AfterTurn::PollNothing } else { AfterTurn::PollSteering };
                assert_eq!(after_turn(finish, aborted), expected);
            }
        }
    }

    #[test]
    fn results_and_steers_make_a_turn_and_an_abort_adds_none() {
        for batch in [BatchOutcome::Empty, BatchOutcome::Results, BatchOutcome::Terminated] {
            for steered in BOTH {
                for finish in FINISHES {
                    for aborted in BOTH {
                        let expected = match (batch == BatchOutcome::Results || steered, aborted, finish) {
                            (true, _, _) | (false, true, Finish::Continue) => AfterSteering::NextTurn,
                            (false, false, _) => AfterSteering::PollFollowUps,
                            (false, true, _) => AfterSteering::End,
                        };
                        assert_eq!(
                            after_steering(batch, steered, finish, aborted),
                            expected,
                            "{batch:?} {steered} {finish:?} {aborted}"
                        );
                    }
                }
            }
        }
    }

    #[test]
    fn a_follow_up_or_a_continue_makes_one_more_turn() {
        for finish in FINISHES {
            assert!(after_follow_ups(true, finish));
            assert_eq!(after_follow_ups(false, finish), finish == Finish::Continue);
        }
    }

    #[test]
    fn steering_is_asked_again_only_if_nothing_is_pending_and_nothing_aborted() {
        for pending in 0..3 {
            for aborted in BOTH {
                assert_eq!(polls_again(pending, aborted), pending == 0 && !aborted);
            }
        }
    }
}
