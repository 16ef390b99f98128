//! Limits and budgets of one run.

use super::{Course, end_where};
use crate::hook::{BeforeToolCall, FinishTurn, FinishedTurn, Hook, HookContext};
use crate::message::{AgentMessage, CustomMessage, ToolCall, Usage};

/// Ends a run after so many turns, if it would go on.
///
/// A run whose last allowed turn is its last anyway ends as it would have ended. The first turn is always made. What
/// goes on all the same, by another hook's [`Continue`](FinishTurn::Continue) or a message that is queued just then, ends
/// one turn later.
///
/// ```
/// # futures::executor::block_on(async {
/// # use turnstate::{message::StopReason, model::{Delta, Request}, tool::{NoArgs, tool_fn}};
/// # let model = |_: Request| futures::stream::iter([
/// #     Delta::tool_call_start(0, "c", "clock"), Delta::tool_call(0, "{}"), Delta::done(StopReason::ToolUse),
/// # ]);
/// # let clock = tool_fn("clock", "Tells the time.", async |_: NoArgs, _| Ok("12:00"));
/// use turnstate::hook::TurnLimit;
/// use turnstate::{Ending, Run};
///
/// // A model that calls a tool in every turn.
/// let run = Run::builder(model).tool(clock).hook(TurnLimit::new(3)).build();
/// let run = run.prompt("What time is it?").finish().await;
/// let reason = Some("the turn limit of 3 is reached".to_owned());
/// assert_eq!(run.outcome().unwrap().ending, Ending::EndedByHook { reason });
/// # });
/// ```
#[derive(Debug, Clone, Copy)]
pub struct TurnLimit(usize);

impl TurnLimit {
    /// A limit of so many turns for each run.
    #[must_use]
    pub fn new(turns: usize) -> Self {
        Self(turns)
    }
}

impl<M: CustomMessage> Hook<M> for TurnLimit {
    async fn finish_turn(&self, turn: &FinishedTurn, cx: HookContext<'_, M>) -> FinishTurn {
        end_where(turn, cx, |course| {
            let reached = course.answers.len() >= self.0;
            reached.then(|| format!("the turn limit of {} is reached", self.0))
        })
    }
}

/// Lets a run make so many tool calls: one more is not executed, and the run ends with its turn.
///
/// The model reads why as the error result of the call. A run that makes the allowed calls and then answers ends as it
/// would have ended. Every call of the model counts, also one of an unknown tool; calls that a tool makes itself do
/// not.
///
/// ```
/// # futures::executor::block_on(async {
/// # use turnstate::{message::StopReason, model::{Delta, Request}, tool::{NoArgs, tool_fn}};
/// # let model = |_: Request| futures::stream::iter([
/// #     Delta::tool_call_start(0, "c", "clock"), Delta::tool_call(0, "{}"), Delta::done(StopReason::ToolUse),
/// # ]);
/// # let clock = tool_fn("clock", "Tells the time.", async |_: NoArgs, _| Ok("12:00"));
/// use turnstate::hook::ToolCallLimit;
/// use turnstate::{Ending, Run};
///
/// // A model that calls a tool in every turn.
/// let run = Run::builder(model).tool(clock).hook(ToolCallLimit::new(2)).build();
/// let run = run.prompt("What time is it?").finish().await;
/// let reason = Some("the tool call limit of 2 is used up".to_owned());
/// assert_eq!(run.outcome().unwrap().ending, Ending::EndedByHook { reason });
/// let last = run.transcript().last().unwrap().as_tool_result().unwrap();
/// assert_eq!(
///     last.texts().collect::<String>(),
///     "The call was not run: the tool call limit of 2 is used up."
/// );
/// # });
/// ```
///
/// Calls of one answer that have the same id have one place, the last one's, so that a repeated id does not slip through.
/// Calls of an answer that was cut off count too, although they did not run.
#[derive(Debug, Clone, Copy)]
pub struct ToolCallLimit(usize);

impl ToolCallLimit {
    /// A limit of so many tool calls for each run.
    #[must_use]
    pub fn new(calls: usize) -> Self {
        Self(calls)
    }

    fn reason(self) -> String {
        format!("the tool call limit of {} is used up", self.0)
    }
}

impl<M: CustomMessage> Hook<M> for ToolCallLimit {
    async fn before_tool_call(&self, call: &ToolCall, cx: HookContext<'_, M>) -> BeforeToolCall {
        match place_of(call, &Course::of(cx)) {
            Some(place) if place >= self.0 => {
                BeforeToolCall::block(format!("The call was not run: {}.", self.reason()))
            }
            _ => BeforeToolCall::Allow,
        }
    }

    async fn finish_turn(&self, turn: &FinishedTurn, cx: HookContext<'_, M>) -> FinishTurn {
        end_where(turn, cx, |course| (course.calls() > self.0).then(|| self.reason()))
    }
}

/// The place of a call of the last answer among all calls of the run, from 0; `None` for a call that a tool makes
/// itself. Of calls with one id the last counts, so that a repeated id does not slip through.
fn place_of<M>(call: &ToolCall, course: &Course<'_, M>) -> Option<usize> {
    let last: Vec<_> = course.answers.last()?.tool_calls().collect();
    let place = last.iter().rposition(|known| known.id == call.id)?;
    Some(course.calls() - last.len() + place)
}

/// Ends a run that has used so many tokens, if it would go on.
///
/// It is asked after each turn, so the turn that uses up the budget is finished; for what goes on all the same see
/// [`TurnLimit`]. Counted is what the answers used, with the tokens read from and written to a cache, and what tools used
/// by themselves.
///
/// ```
/// # futures::executor::block_on(async {
/// # use turnstate::{message::{StopReason, Usage}, model::{Delta, Done, Request}, tool::{NoArgs, tool_fn}};
/// # let model = |_: Request| futures::stream::iter([
/// #     Delta::tool_call_start(0, "c", "clock"), Delta::tool_call(0, "{}"),
/// #     Delta::Done(Box::new(Done::new(StopReason::ToolUse).with_usage(Usage::new(300, 100)))),
/// # ]);
/// # let clock = tool_fn("clock", "Tells the time.", async |_: NoArgs, _| Ok("12:00"));
/// use turnstate::hook::TokenBudget;
/// use turnstate::{Ending, Run};
///
/// // A model that uses 400 tokens for each answer.
/// let run = Run::builder(model).tool(clock).hook(TokenBudget::new(1000)).build();
/// let run = run.prompt("What time is it?").finish().await;
/// let reason = Some("the budget of 1000 tokens is used up: 1200 were used".to_owned());
/// assert_eq!(run.outcome().unwrap().ending, Ending::EndedByHook { reason });
/// # });
/// ```
#[derive(Debug, Clone, Copy)]
pub struct TokenBudget(u64);

impl TokenBudget {
    /// A budget of so many tokens for each run.
    #[must_use]
    pub fn new(tokens: u64) -> Self {
        Self(tokens)
    }
}

impl<M: CustomMessage> Hook<M> for TokenBudget {
    async fn finish_turn(&self, turn: &FinishedTurn, cx: HookContext<'_, M>) -> FinishTurn {
        end_where(turn, cx, |course| {
            let used = usages(course).fold(0, |sum: u64, usage| sum.saturating_add(tokens(usage)));
            let reached = used >= self.0;
            reached.then(|| format!("the budget of {} tokens is used up: {used} were used", self.0))
        })
    }
}

/// Ends a run that has cost so much, if it would go on.
///
/// It is asked after each turn, so the turn that uses up the budget is finished; for what goes on all the same see
/// [`TurnLimit`]. Counted is what the answers cost, and what tools cost by themselves, as the model's stream and the tools
/// report it: without prices there is no cost.
///
/// ```
/// # futures::executor::block_on(async {
/// # use turnstate::{message::{StopReason, Usage}, model::{Delta, Done, Request}, tool::{NoArgs, tool_fn}};
/// # let mut usage = Usage::new(300, 100);
/// # usage.cost.total = 0.125;
/// # let model = move |_: Request| futures::stream::iter([
/// #     Delta::tool_call_start(0, "c", "clock"), Delta::tool_call(0, "{}"),
/// #     Delta::Done(Box::new(Done::new(StopReason::ToolUse).with_usage(usage))),
/// # ]);
/// # let clock = tool_fn("clock", "Tells the time.", async |_: NoArgs, _| Ok("12:00"));
/// use turnstate::hook::CostBudget;
/// use turnstate::{Ending, Run};
///
/// // A model whose answers cost 0.125 each.
/// let run = Run::builder(model).tool(clock).hook(CostBudget::new(0.5)).build();
/// let run = run.prompt("What time is it?").finish().await;
/// let reason = Some("the budget of 0.5000 is used up: the run has cost 0.5000".to_owned());
/// assert_eq!(run.outcome().unwrap().ending, Ending::EndedByHook { reason });
/// # });
/// ```
#[derive(Debug, Clone, Copy)]
pub struct CostBudget(f64);

impl CostBudget {
    /// A budget for each run, in the currency units of the host's price list. One that is no number is none: the run
    /// ends after its first turn.
    #[must_use]
    pub fn new(cost: f64) -> Self {
        Self(cost)
    }
}

impl<M: CustomMessage> Hook<M> for CostBudget {
    async fn finish_turn(&self, turn: &FinishedTurn, cx: HookContext<'_, M>) -> FinishTurn {
        let budget = self.0;
        end_where(turn, cx, |course| {
            let cost: f64 = usages(course).map(|usage| usage.cost.total).sum();
            // So that a budget that is no number is none.
            let left = cost < budget;
            (!left).then(|| format!("the budget of {budget:.4} is used up: the run has cost {cost:.4}"))
        })
    }
}

/// What the answers of a run used, and its tools by themselves.
fn usages<'a, M>(course: &Course<'a, M>) -> impl Iterator<Item = &'a Usage> {
    course.messages().filter_map(|message| match message {
        AgentMessage::Assistant(answer) => Some(&answer.usage),
        AgentMessage::ToolResult(result) => result.usage.as_ref(),
        _ => None,
    })
}

/// All tokens, also where the provider gives no sum.
fn tokens(usage: &Usage) -> u64 {
    let parts = [usage.input, usage.output, usage.cache_read, usage.cache_write];
    usage.total_tokens.max(parts.into_iter().fold(0, u64::saturating_add))
}
