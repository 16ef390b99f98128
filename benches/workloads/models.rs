//! The scripted models of the workloads: in memory, without a wait.

use futures::stream::{self, BoxStream, StreamExt};
use turnstate::message::StopReason;
use turnstate::model::{Delta, Request, StreamFn};

/// One answer of `count` text deltas of 8 bytes.
pub(crate) fn text_deltas(count: usize) -> impl StreamFn {
    move |_: Request| {
        let head = [Delta::Start, Delta::TextStart { index: 0 }];
        let body = (0..count).map(|_| Delta::text(0, "8 bytes "));
        let tail = [Delta::TextEnd { index: 0, signature: None }, Delta::done(StopReason::Stop)];
        stream::iter(head.into_iter().chain(body).chain(tail))
    }
}

/// `turns` answers with one call each, then one without. The number of messages tells which turn it is.
pub(crate) fn tool_turns(turns: usize) -> impl StreamFn {
    move |request: Request| -> BoxStream<'static, Delta> {
        // The conversation starts with a system and a user message; each turn adds two.
        let answered = request.messages.len().saturating_sub(2) / 2;
        if answered < turns { calls(1).boxed() } else { done().boxed() }
    }
}

/// One answer with `count` calls, then one without.
pub(crate) fn many_calls(count: usize) -> impl StreamFn {
    move |request: Request| -> BoxStream<'static, Delta> {
        if request.messages.len() <= 2 { calls(count).boxed() } else { done().boxed() }
    }
}

/// One call whose argument text comes in fragments of 16 bytes.
pub(crate) fn long_arguments(text: std::sync::Arc<str>) -> impl StreamFn {
    move |request: Request| -> BoxStream<'static, Delta> {
        if request.messages.len() > 2 {
            return done().boxed();
        }
        let text = text.clone();
        let fragments = (0..text.len().div_ceil(16)).map(move |at| {
            let end = (at * 16 + 16).min(text.len());
            Delta::tool_call(0, &text[at * 16..end])
        });
        let head = [Delta::Start, Delta::tool_call_start(0, "call_1", "no_op")];
        let tail = [Delta::ToolCallEnd { index: 0, call: None }, Delta::done(StopReason::ToolUse)];
        stream::iter(head.into_iter().chain(fragments).chain(tail)).boxed()
    }
}

fn calls(count: usize) -> impl futures::Stream<Item = Delta> + Send {
    let calls = (0..u32::try_from(count).unwrap_or(u32::MAX)).flat_map(|index| {
        [
            Delta::tool_call_start(index, format!("call_{index}"), "no_op"),
            Delta::tool_call(index, "{}"),
            Delta::ToolCallEnd { index, call: None },
        ]
    });
    stream::iter([Delta::Start].into_iter().chain(calls).chain([Delta::done(StopReason::ToolUse)]))
}

fn done() -> impl futures::Stream<Item = Delta> + Send {
    stream::iter([Delta::Start, Delta::done(StopReason::Stop)])
}
