//! What the end of a transcript is waiting for.

use std::collections::HashMap;
use std::sync::Arc;

use crate::message::{AgentMessage, ToolCall};

/// What a run that resumes finds at the end of a transcript.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub enum Tail {
    /// No message, or system messages alone: there is nothing to answer.
    Nothing,
    /// A usable answer whose calls all have results: only a queued message can go on.
    Answered,
    /// An answer that failed or was aborted: asking again is a retry.
    Failed,
    /// A usable answer with calls that have no result. A request made now answers them by [repair](super::Repair).
    OpenCalls,
    /// A user message, a tool result, a custom message, or a system message after any of the others: the model is
    /// to answer.
    Open,
}

impl Tail {
    /// The tail of a transcript. Only roles and stop reasons count: a custom message is `Open` whatever the model sees
    /// of it.
    #[must_use]
    pub fn of<M>(transcript: &[AgentMessage<M>]) -> Self {
        match transcript.last() {
            None => Self::Nothing,
            Some(AgentMessage::System(_)) if transcript.iter().all(|m| m.as_system().is_some()) => {
                Self::Nothing
            }
            Some(AgentMessage::Assistant(answer)) if !answer.is_usable() => Self::Failed,
            Some(AgentMessage::Assistant(answer)) if answer.tool_calls().next().is_some() => Self::OpenCalls,
            Some(AgentMessage::Assistant(_)) => Self::Answered,
            Some(_) => Self::Open,
        }
    }

    /// Whether a run that resumes here takes queued messages as its prompt.
    pub(crate) fn takes_queued(self) -> bool {
        matches!(self, Self::Answered | Self::Failed | Self::OpenCalls)
    }
}

/// The calls that have no result yet, in the order of the answer: those of the last usable answer, whatever stands
/// after it.
///
/// Where an answer repeats an id, its results count for the calls of that id in order.
#[must_use]
pub fn open_calls<M>(transcript: &[AgentMessage<M>]) -> Vec<Arc<ToolCall>> {
    let usable = |message: &AgentMessage<M>| message.as_assistant().is_some_and(|answer| answer.is_usable());
    let Some(at) = transcript.iter().rposition(usable) else { return Vec::new() };
    let (_, from_answer) = transcript.split_at(at);
    let mut results: HashMap<&str, usize> = HashMap::new();
    for result in from_answer.iter().filter_map(AgentMessage::as_tool_result) {
        *results.entry(&result.tool_call_id).or_default() += 1;
    }
    let mut is_open = |call: &&Arc<ToolCall>| match results.get_mut(call.id.as_str()) {
        Some(left) if *left > 0 => {
            *left -= 1;
            false
        }
        _ => true,
    };
    let answer = from_answer.first().and_then(AgentMessage::as_assistant);
    answer.into_iter().flat_map(|answer| answer.tool_calls()).filter(|call| is_open(call)).cloned().collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::message::{AssistantContent, StopReason};
    use crate::transcript::samples::{Any, Sample, answer, call, calls, result, stopped};

    fn text() -> Any {
        answer([AssistantContent::text("done")])
    }

    #[test]
    fn the_last_message_decides_what_a_resumed_run_finds() {
        let ui = || Any::Custom(Arc::new(Sample::Ui));
        let table = [
            (vec![], Tail::Nothing),
            (vec![Any::system("s")], Tail::Nothing),
            (vec![Any::system("s"), Any::system("t")], Tail::Nothing),
            (vec![Any::user("u")], Tail::Open),
            (vec![Any::user("u"), Any::system("s")], Tail::Open),
            (vec![Any::user("u"), text(), Any::system("s")], Tail::Open),
            (vec![ui()], Tail::Open),
            (vec![Any::user("u"), text(), ui()], Tail::Open),
            (vec![Any::user("u"), text()], Tail::Answered),
            (vec![Any::user("u"), answer([])], Tail::Answered),
            (vec![Any::user("u"), stopped([], StopReason::Length)], Tail::Answered),
            (vec![Any::user("u"), stopped([], StopReason::Error)], Tail::Failed),
            (vec![Any::user("u"), stopped([call("a")], StopReason::Aborted)], Tail::Failed),
            (vec![Any::user("u"), calls(["a"])], Tail::OpenCalls),
            (vec![Any::user("u"), stopped([call("a")], StopReason::Length)], Tail::OpenCalls),
            (vec![Any::user("u"), calls(["a"]), result("a", "A")], Tail::Open),
            (vec![Any::user("u"), calls(["a", "b"]), result("a", "A")], Tail::Open),
        ];
        for (transcript, tail) in table {
            assert_eq!(Tail::of(&transcript), tail, "{transcript:?}");
        }
    }

    #[test]
    fn calls_of_the_last_usable_answer_are_open_until_they_have_a_result() {
        let failed = || stopped([call("f")], StopReason::Error);
        let table: [(Vec<Any>, &[&str]); 11] = [
            (vec![], &[]),
            (vec![Any::user("u"), text()], &[]),
            (vec![calls(["a", "b"])], &["a", "b"]),
            (vec![calls(["a", "b"]), result("b", "B")], &["a"]),
            (vec![calls(["a", "b"]), result("b", "B"), result("a", "A")], &[]),
            (vec![calls(["a"]), Any::user("u")], &["a"]),
            (vec![calls(["a"]), failed()], &["a"]),
            (vec![failed()], &[]),
            (vec![calls(["a"]), calls(["b"])], &["b"]),
            (vec![result("a", "old"), calls(["a"])], &["a"]),
            (vec![calls(["x", "y", "x"]), result("x", "first")], &["y", "x"]),
        ];
        for (transcript, open) in table {
            let ids: Vec<_> = open_calls(&transcript).iter().map(|call| call.id.clone()).collect();
            assert_eq!(ids, open, "{transcript:?}");
        }
    }
}
