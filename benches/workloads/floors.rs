//! The floors: the least that anybody would have to do.

use std::future::ready;

use futures::executor::block_on;
use futures::stream::{self, BoxStream, FuturesUnordered, StreamExt};
use serde_json::{Map, Value};
use turnstate::Transcript;
use turnstate::message::{AgentMessage, AssistantMessage, Content, StopReason, ToolCall, ToolResultMessage};
use turnstate::model::Delta;

/// A boxed stream of the same deltas, appended to one string.
pub(crate) fn boxed_deltas(count: usize) -> BoxStream<'static, Delta> {
    stream::iter((0..count).map(|_| Delta::text(0, "8 bytes "))).boxed()
}

pub(crate) fn append(mut deltas: BoxStream<'static, Delta>) {
    let mut text = String::new();
    block_on(async {
        while let Some(delta) = deltas.next().await {
            if let Delta::Text { delta, .. } = delta {
                text.push_str(&delta);
            }
        }
    });
    std::hint::black_box(text);
}

/// An answer with `calls` calls, and its results.
pub(crate) fn push_turn(transcript: &mut Vec<AgentMessage>, calls: usize) {
    let content =
        (0..calls).map(|at| ToolCall::new(format!("call_{at}"), "no_op", Map::new()).into()).collect();
    transcript.push(AssistantMessage::new(content).with_stop_reason(StopReason::ToolUse).into());
    for at in 0..calls {
        transcript.push(result(at).into());
    }
}

fn result(at: usize) -> ToolResultMessage {
    ToolResultMessage::new(format!("call_{at}"), "no_op", vec![Content::text("ok")])
}

/// As many ready futures through one set, each giving its result message.
pub(crate) fn ready_futures(calls: usize) {
    let mut set: FuturesUnordered<_> = (0..calls).map(|at| ready(result(at))).collect();
    let mut transcript: Vec<AgentMessage> = Vec::new();
    let content =
        (0..calls).map(|at| ToolCall::new(format!("call_{at}"), "no_op", Map::new()).into()).collect();
    transcript.push(AssistantMessage::new(content).with_stop_reason(StopReason::ToolUse).into());
    block_on(async {
        while let Some(result) = set.next().await {
            transcript.push(result.into());
        }
    });
    std::hint::black_box(transcript);
}

pub(crate) fn parse(text: &str) {
    std::hint::black_box(serde_json::from_str::<Value>(text).expect("the text is JSON"));
}

/// JSON into plain values and back.
pub(crate) fn through_values(json: &str) {
    let value: Value = serde_json::from_str(json).expect("the text is JSON");
    std::hint::black_box(serde_json::to_string(&value).expect("values are JSON"));
}

/// JSON of a transcript with this many messages.
pub(crate) fn saved_transcript(messages: usize) -> String {
    let mut transcript = Vec::new();
    while transcript.len() < messages {
        transcript
            .push(AgentMessage::user("Please look at the next file and say in one line what it is for."));
        push_turn(&mut transcript, 1);
        transcript.push(
            AssistantMessage::text("It holds the settings of the build; nothing in it needs to change.")
                .into(),
        );
    }
    let transcript: Transcript = transcript.into_iter().take(messages).collect();
    serde_json::to_string(&transcript).expect("transcripts are JSON")
}
