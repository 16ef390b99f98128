//! A model that goes in circles.

use std::sync::Arc;

use super::{Course, end_where};
use crate::hook::{FinishTurn, FinishedTurn, Hook, HookContext};
use crate::message::{AgentMessage, CustomMessage, StopReason, ToolCall};

/// Ends a run in which the model makes the same call so many times in a row: the same tool with the same arguments, and
/// no other call and no new message in between.
///
/// It is asked after each turn, so the last of the calls is executed. Arguments are compared as JSON values. A prompt, a
/// steer or a follow-up starts the count anew, since the model has a new reason to try; a system message does not. Calls
/// of an answer that was cut off do not count, since they did not run.
///
/// ```
/// # futures::executor::block_on(async {
/// # use turnstate::{message::StopReason, model::{Delta, Request}, tool::{NoArgs, tool_fn}};
/// # let model = |_: Request| futures::stream::iter([
/// #     Delta::tool_call_start(0, "c", "clock"), Delta::tool_call(0, "{}"), Delta::done(StopReason::ToolUse),
/// # ]);
/// # let clock = tool_fn("clock", "Tells the time.", async |_: NoArgs, _| Ok("12:00"));
/// use turnstate::hook::RepeatedCalls;
/// use turnstate::{Ending, Run};
///
/// // A model that makes the same call in every turn.
/// let run = Run::builder(model).tool(clock).hook(RepeatedCalls::new(3)).build();
/// let run = run.prompt("What time is it?").finish().await;
/// let reason = Some("tool `clock` was called 3 times in a row with the same arguments".to_owned());
/// assert_eq!(run.outcome().unwrap().ending, Ending::EndedByHook { reason });
/// # });
/// ```
#[derive(Debug, Clone, Copy)]
pub struct RepeatedCalls(usize);

impl RepeatedCalls {
    /// Ends a run at this many equal calls in a row; at least two.
    #[must_use]
    pub fn new(times: usize) -> Self {
        Self(times.max(2))
    }
}

impl<M: CustomMessage> Hook<M> for RepeatedCalls {
    async fn finish_turn(&self, turn: &FinishedTurn, cx: HookContext<'_, M>) -> FinishTurn {
        end_where(turn, cx, |course| {
            let (call, times) = longest_streak(course).filter(|(_, times)| *times >= self.0)?;
            Some(format!("tool `{}` was called {times} times in a row with the same arguments", call.name))
        })
    }
}

/// The call that was made most often in a row, and how often.
fn longest_streak<'a, M>(course: &Course<'a, M>) -> Option<(&'a Arc<ToolCall>, usize)> {
    let mut longest: Option<(&Arc<ToolCall>, usize)> = None;
    let mut current: Option<(&Arc<ToolCall>, usize)> = None;
    for message in course.messages() {
        match message {
            // Calls of an answer that was cut off did not run: the model was asked to make them again.
            AgentMessage::Assistant(answer) if answer.stop_reason == StopReason::Length => {}
            AgentMessage::Assistant(answer) => {
                for call in answer.tool_calls() {
                    let times = match current {
                        Some((last, times)) if is_same(last, call) => times + 1,
                        _ => 1,
                    };
                    current = Some((call, times));
                    if longest.is_none_or(|(_, most)| times > most) {
                        longest = current;
                    }
                }
            }
            // A declaration of tools is no new reason to try.
            AgentMessage::ToolResult(_) | AgentMessage::System(_) => {}
            AgentMessage::User(_) | AgentMessage::Custom(_) => current = None,
        }
    }
    longest
}

fn is_same(a: &ToolCall, b: &ToolCall) -> bool {
    a.name == b.name && a.arguments == b.arguments && a.arguments_error == b.arguments_error
}
