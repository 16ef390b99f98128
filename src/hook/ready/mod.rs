//! Ready-made hooks: limits, budgets, a list of tools, approval. They stack with each other and with a host's own.
//!
//! Limits count for each run anew, and without a memory of their own: everything they count is in the messages that the
//! run has added so far. So one hook may serve many runs, also at the same time, and a run that was resumed or
//! dropped leaves nothing behind in it. Answers that the host puts in, with a prompt or a hook, do not count.
//!
//! A limit that is reached by a run's last turn changes nothing: the run ends as it would have ended. What goes on all
//! the same, by another hook's word or a message that was queued at the last moment, ends one turn later.

mod approval;
mod filter;
mod limits;
mod repeated;

use std::sync::Arc;

use crate::hook::{FinishTurn, FinishedTurn, HookContext};
use crate::message::{AgentMessage, AssistantMessage};

pub use approval::{Approval, ApprovalRequest, Decision};
pub use filter::ToolFilter;
pub use limits::{CostBudget, TokenBudget, ToolCallLimit, TurnLimit};
pub use repeated::RepeatedCalls;

/// Ends the run where a limit is reached and the run would go on, or has gone on in spite of it.
fn end_where<M>(
    turn: &FinishedTurn,
    cx: HookContext<'_, M>,
    reached: impl Fn(&Course<'_, M>) -> Option<String>,
) -> FinishTurn {
    let course = Course::of(cx);
    let Some(reason) = reached(&course) else { return FinishTurn::Default };
    let went_on = || course.before_last_answer().is_some_and(|before| reached(&before).is_some());
    if turn.goes_on || went_on() { FinishTurn::end(reason) } else { FinishTurn::Default }
}

/// What a run has done so far, to be counted.
struct Course<'a, M> {
    /// The model's answers.
    answers: &'a [Arc<AssistantMessage>],
    /// All that the run has added. The host may have put in answers too, as an example for the model or as an earlier
    /// conversation: they are nothing that the run has done.
    added: &'a [AgentMessage<M>],
}

impl<'a, M> Course<'a, M> {
    fn of(cx: HookContext<'a, M>) -> Self {
        Self { answers: cx.answers, added: cx.added }
    }

    /// The same without the last answer and all that follows it; `None` if that was the first.
    fn before_last_answer(&self) -> Option<Self> {
        let (last, answers) = self.answers.split_last().filter(|(_, before)| !before.is_empty())?;
        let is_last =
            |message: &AgentMessage<M>| message.as_assistant().is_some_and(|a| Arc::ptr_eq(a, last));
        let (added, _) = self.added.split_at(self.added.iter().rposition(is_last)?);
        Some(Self { answers, added })
    }

    /// What was added, without answers that the host put in and the results that follow them.
    fn messages(&self) -> impl Iterator<Item = &'a AgentMessage<M>> {
        let mut answers = self.answers.iter().peekable();
        let mut is_own = false;
        self.added.iter().filter(move |message| match message {
            AgentMessage::Assistant(answer) => {
                is_own = answers.next_if(|own| Arc::ptr_eq(own, answer)).is_some();
                is_own
            }
            AgentMessage::ToolResult(_) => is_own,
            _ => true,
        })
    }

    /// How many calls the answers make.
    fn calls(&self) -> usize {
        self.answers.iter().map(|answer| answer.tool_calls().count()).sum()
    }
}
