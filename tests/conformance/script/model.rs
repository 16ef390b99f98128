//! The scripted model.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use futures::stream::{self, BoxStream, StreamExt};
use futures::{FutureExt, Stream};
use serde_json::{Value, json};
use turnstate::AbortSignal;
use turnstate::message::{StopReason, ToolCall};
use turnstate::model::{Delta, Failure, Model, Request, StreamFn};

use super::throw;
use crate::record::{CallStep, Chunk, Response, Step};
use crate::shape;
use crate::stage::Stage;

/// The model that answers by the scenario's responses.
pub(crate) fn scripted_model(stage: Arc<Stage>) -> impl StreamFn {
    move |request: Request| -> BoxStream<'static, Delta> {
        note_request(&stage, &request);
        let response = stage.next_response().unwrap_or_else(no_more_responses);
        if let Some(text) = response.steps.first().and_then(|step| step.throw.as_deref()) {
            throw(text);
        }
        answer(stage.clone(), response, request.abort).boxed()
    }
}

pub(crate) fn model(id: &str) -> Model {
    Model::new(format!("p-{id}"), id)
}

fn note_request(stage: &Stage, request: &Request) {
    let messages: Value = request.messages.iter().map(shape::model_message).collect();
    let mut entry = stage.stamped(json!({"model": request.model.id, "messages": messages}));
    if let Some(level) = &request.thinking_level {
        entry["reasoning"] = shape::to_json(level);
    }
    if let Some(key) = &request.api_key {
        entry["apiKey"] = key.reveal().into();
    }
    let mut log = stage.log();
    log.trace.requests.push(entry);
    log.ledger.requests_after_abort += usize::from(request.abort.is_aborted());
}

fn no_more_responses() -> Response {
    let text = Step { text: Some(vec![Chunk::Text("(no more responses)".to_owned())]), ..Step::default() };
    let done = Step { done: Some(StopReason::Stop), ..Step::default() };
    Response { steps: vec![Step { start: Some(true), ..Step::default() }, text, done], ignore_abort: false }
}

/// A delta, or a gate before the next one.
enum Beat {
    Delta(Delta),
    Wait(String),
}

/// The stream of an answer. Unless told otherwise it looks at the signal before each delta and while it waits.
fn answer(
    stage: Arc<Stage>,
    response: Response,
    abort: AbortSignal,
) -> impl Stream<Item = Delta> + Send + 'static {
    let abort = (!response.ignore_abort).then_some(abort);
    let beats = beats(&response.steps).into_iter();
    stream::unfold((beats, abort, stage), async |(mut beats, abort, stage)| {
        loop {
            if abort.as_ref().is_some_and(AbortSignal::is_aborted) {
                let failed = Delta::Error(Box::new(aborted("the scripted stream was aborted")));
                return Some((failed, (Vec::new().into_iter(), None, stage)));
            }
            match beats.next()? {
                Beat::Delta(delta) => return Some((delta, (beats, abort, stage))),
                Beat::Wait(gate) => wait(&stage, &gate, abort.as_ref()).await,
            }
        }
    })
}

/// Waits for a gate, or for the abort.
async fn wait(stage: &Stage, gate: &str, abort: Option<&AbortSignal>) {
    let mut aborted = abort.map(AbortSignal::aborted);
    let mut released = stage.gates.gate(gate).wait();
    poll_fn(|cx| match aborted.as_mut().map(|aborted| aborted.poll_unpin(cx)) {
        Some(Poll::Ready(())) => Poll::Ready(()),
        _ => released.poll_unpin(cx),
    })
    .await;
}

fn aborted(text: &str) -> Failure {
    let mut failure = Failure::new(text);
    failure.reason = StopReason::Aborted;
    failure
}

fn beats(steps: &[Step]) -> Vec<Beat> {
    let mut beats = Vec::new();
    let mut index = 0;
    for step in steps {
        let before = beats.len();
        if step.start == Some(true) {
            beats.push(Beat::Delta(Delta::Start));
        } else if let Some(chunks) = &step.text {
            beats.push(Beat::Delta(Delta::TextStart { index }));
            pieces(&mut beats, chunks, |piece| Delta::text(index, piece));
            if !step.open {
                beats.push(Beat::Delta(Delta::TextEnd { index, signature: None }));
            }
        } else if let Some(chunks) = &step.thinking {
            beats.push(Beat::Delta(Delta::ThinkingStart { index }));
            pieces(&mut beats, chunks, |piece| Delta::thinking(index, piece));
            if !step.open {
                beats.push(Beat::Delta(Delta::ThinkingEnd { index, signature: None, redacted: false }));
            }
        } else if let Some(call) = &step.tool_call {
            tool_call(&mut beats, index, call, step.open);
        } else if let Some(gate) = &step.wait {
            beats.push(Beat::Wait(gate.clone()));
        } else if let Some(reason) = step.done {
            beats.push(Beat::Delta(Delta::done(reason)));
        } else if let Some(text) = &step.error {
            beats.push(Beat::Delta(Delta::error(text)));
        } else if let Some(text) = &step.aborted {
            beats.push(Beat::Delta(Delta::Error(Box::new(aborted(text)))));
        } else {
            assert!(step.end.is_some(), "a step of no known kind: {step:?}");
        }
        index += u32::from(beats[before..].iter().any(starts_block));
    }
    beats
}

fn starts_block(beat: &Beat) -> bool {
    matches!(
        beat,
        Beat::Delta(Delta::TextStart { .. } | Delta::ThinkingStart { .. } | Delta::ToolCallStart { .. })
    )
}

fn pieces(beats: &mut Vec<Beat>, chunks: &[Chunk], delta: impl Fn(&str) -> Delta) {
    beats.extend(chunks.iter().map(|chunk| match chunk {
        Chunk::Text(piece) => Beat::Delta(delta(piece)),
        Chunk::Wait { wait } => Beat::Wait(wait.clone()),
    }));
}

fn tool_call(beats: &mut Vec<Beat>, index: u32, call: &CallStep, open: bool) {
    beats.push(Beat::Delta(Delta::tool_call_start(index, &call.id, &call.name)));
    pieces(beats, &call.chunks, |piece| Delta::tool_call(index, piece));
    if !open {
        let complete = call.args.clone().map(|args| Box::new(ToolCall::new(&call.id, &call.name, args)));
        beats.push(Beat::Delta(Delta::ToolCallEnd { index, call: complete }));
    }
}
