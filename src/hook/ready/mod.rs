//! Ready-made hooks: limits, budgets, a list of tools, approval. They stack with each other and with a host's own.
//!
//! Limits count for each run anew, and without a memory of their own: everything they count is in the messages that the
//! run has added so far. So one hook may serve many runs, also at the same time, and a run that was resumed or
//! dropped leaves nothing behind in it.
//!
//! A limit that is reached by a run's last turn changes nothing: the run ends as it would have ended. What goes on all
//! the same, by another hook's word or a message that was queued at the last moment, ends one turn later.

mod approval;
mod filter;
mod limits;
mod repeated;

use crate::hook::{FinishTurn, FinishedTurn};
use crate::message::AgentMessage;

pub use approval::{Approval, ApprovalRequest, Decision};
pub use filter::ToolFilter;
pub use limits::{CostBudget, TokenBudget, ToolCallLimit, TurnLimit};
pub use repeated::RepeatedCalls;

/// Ends the run where a limit is reached and the run would go on, or has gone on in spite of it.
fn end_where<M>(
    turn: &FinishedTurn,
    added: &[AgentMessage<M>],
    reached: impl Fn(&[AgentMessage<M>]) -> Option<String>,
) -> FinishTurn {
    let Some(reason) = reached(added) else { return FinishTurn::Default };
    let went_on = || before_last_answer(added).is_some_and(|added| reached(added).is_some());
    if turn.goes_on || went_on() { FinishTurn::end(reason) } else { FinishTurn::Default }
}

/// What a run had added before its last answer; `None` if that was its first.
fn before_last_answer<M>(added: &[AgentMessage<M>]) -> Option<&[AgentMessage<M>]> {
    let is_answer = |message: &AgentMessage<M>| message.as_assistant().is_some();
    let (before, _) = added.split_at(added.iter().rposition(is_answer)?);
    before.iter().any(is_answer).then_some(before)
}
