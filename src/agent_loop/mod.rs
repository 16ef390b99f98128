//! The agent loop.
//!
//! Two parts, each readable alone. *The loop* ([`run`]) is one async function of two nested loops; it decides, calls
//! the hooks, runs the tools, and tells each step. *The driver* ([`AgentLoop`]) polls it, drives the model's stream in
//! between, reduces each event into the [`State`] and hands it to the consumer. Nothing moves unless the consumer asks
//! for the next event: every event is a barrier, and dropping the stream stops everything.

mod batch;
mod call;
mod closing;
mod config;
mod desk;
mod driver;
mod foreign;
mod inside;
mod schedule;
mod spine;
mod turn_change;
mod unless_aborted;
mod updates;

#[cfg(feature = "testing")]
pub(crate) use call::{Batch, Prepared};
pub use config::{LoopConfig, MessageSource, NoMessages, Spawner, Tools};
pub use driver::AgentLoop;
pub(crate) use foreign::Foreign;
pub(crate) use inside::{inside, is_inside};
pub(crate) use spine::Memory;
pub use turn_change::TurnChange;

use std::sync::Arc;

use thiserror::Error;

use self::batch::BatchResults;
use self::desk::Desk;
use self::schedule::{
    AfterAnswer, AfterSteering, AfterTurn, BatchOutcome, after_answer, after_follow_ups, after_steering,
    after_turn,
};
use self::spine::{Pending, Recall, Spine, finish};
use crate::abort::AbortSignal;
use crate::event::{AgentEvent, Ending};
use crate::hook::FinishTurn;
use crate::message::{AgentMessage, AssistantMessage, CustomMessage};
use crate::transcript::{Tail, Transcript};

#[cfg(doc)]
use crate::state::State;

/// Where a run enters.
pub(crate) enum Entry<M> {
    /// With a prompt.
    Prompt(Vec<AgentMessage<M>>),
    /// With messages that were taken from a queue, in place of a prompt.
    Queued(Vec<AgentMessage<M>>),
    /// Where the transcript ends.
    Continue,
}

/// The loop. Follow-ups make the outer loop go round, tools and steering the inner one.
async fn run<M: CustomMessage>(
    mut desk: Desk<M>,
    config: Arc<LoopConfig<M>>,
    recall: Recall<M>,
    abort: AbortSignal,
    entry: Entry<M>,
) -> Option<Memory<M>> {
    desk.emit(AgentEvent::AgentStart).await;
    desk.emit(AgentEvent::TurnStart).await;
    let memory = recall.memory(config.repair);
    let mut spine = Spine::new(desk, config, memory, abort);
    let mut pending = enter(&mut spine, entry).await;
    let ending = 'run: loop {
        let (turn, answer, batch, decided) = loop {
            spine.put_in(pending).await;
            let answer = spine.ask_model().await;
            let batch = match after_answer(answer.stop_reason, answer.tool_calls().next().is_some()) {
                AfterAnswer::Rest => BatchResults::none(),
                AfterAnswer::RunBatch => spine.run_batch(&answer).await,
                AfterAnswer::RefuseBatch => spine.refuse_batch(&answer).await,
                AfterAnswer::Fail => {
                    let turn = spine.finished(&answer, &BatchResults::none());
                    spine.finish_turn(&turn).await;
                    break 'run spine.failed_ending(&answer);
                }
            };
            let turn = spine.finished(&answer, &batch);
            let decided = spine.finish_turn(&turn).await;
            pending = match after_turn(finish(&decided), spine.is_aborted()) {
                AfterTurn::PollSteering => spine.poll_steering(),
                AfterTurn::PollNothing => Pending::none(),
                AfterTurn::EndByHook => break 'run Ending::EndedByHook { reason: reason(decided) },
            };
            match after_steering(batch.outcome, !pending.is_empty(), finish(&decided), spine.is_aborted()) {
                AfterSteering::NextTurn => pending = spine.next_turn(&turn, pending).await,
                AfterSteering::PollFollowUps => break (turn, answer, batch, decided),
                AfterSteering::End => break 'run natural_ending(&answer, batch.outcome),
            }
        };
        pending = spine.poll_follow_ups();
        if !after_follow_ups(!pending.is_empty(), finish(&decided)) {
            break natural_ending(&answer, batch.outcome);
        }
        pending = spine.next_turn(&turn, pending).await;
    };
    spine.end_run(ending).await;
    spine.into_memory()
}

/// Writes the prompt, also after an abort, and asks for steering the first time. Messages that came from a queue are
/// the batch of that first time already.
async fn enter<M: CustomMessage>(spine: &mut Spine<M>, entry: Entry<M>) -> Pending<M> {
    match entry {
        Entry::Queued(messages) => {
            spine.put_in(Pending::from_queue(messages)).await;
            return Pending::none();
        }
        Entry::Prompt(messages) => spine.put_in(Pending::prompt(messages)).await,
        Entry::Continue => {}
    }
    if spine.is_aborted() { Pending::none() } else { spine.poll_steering() }
}

fn natural_ending(answer: &AssistantMessage, batch: BatchOutcome) -> Ending {
    match batch {
        BatchOutcome::Terminated => Ending::Terminated,
        _ => Ending::Stopped { reason: answer.stop_reason },
    }
}

fn reason(decided: FinishTurn) -> Option<String> {
    match decided {
        FinishTurn::End { reason } => reason,
        FinishTurn::Default | FinishTurn::Continue => None,
    }
}

/// Starts a loop with a prompt.
///
/// The stateless layer below [`Run`](crate::Run): a context, a configuration and an abort signal in, a stream of events
/// with its state out. Nothing of the caller's is changed; take the transcript out of the state.
pub fn agent_loop<M: CustomMessage>(
    prompt: Vec<AgentMessage<M>>,
    context: Transcript<M>,
    config: LoopConfig<M>,
    abort: AbortSignal,
) -> AgentLoop<M> {
    AgentLoop::start(Entry::Prompt(prompt), context, config, abort)
}

/// Goes on where the context ends: after a user message, a tool result, a custom message, or a failed answer.
///
/// # Errors
/// When there is nothing to go on from: the context holds no message but system messages, or ends with a usable answer.
pub fn agent_loop_resume<M: CustomMessage>(
    context: Transcript<M>,
    config: LoopConfig<M>,
    abort: AbortSignal,
) -> Result<AgentLoop<M>, NothingToResume> {
    NothingToResume::check(Tail::of(&context))?;
    Ok(AgentLoop::start(Entry::Continue, context, config, abort))
}

/// Why a run cannot be resumed. Nothing has changed.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Error)]
#[non_exhaustive]
pub enum NothingToResume {
    /// There is no message yet, or system messages alone.
    #[error("there is no message to go on from; give a prompt instead")]
    NoMessages,
    /// The last message is a usable answer, and no message is queued.
    #[error(
        "the last message is a usable answer; give a prompt, or queue a message with steer or follow_up first"
    )]
    AlreadyAnswered,
}

impl NothingToResume {
    pub(crate) fn check(tail: Tail) -> Result<(), Self> {
        match tail {
            Tail::Nothing => Err(Self::NoMessages),
            Tail::Answered => Err(Self::AlreadyAnswered),
            Tail::Failed | Tail::OpenCalls | Tail::Open => Ok(()),
        }
    }
}
