//! Rules of the fold that only odd events bring out.

#![allow(clippy::unwrap_used, reason = "tests fail by panicking")]

use std::sync::Arc;

use futures::FutureExt;
use serde_json::{Map, Value, json};
use turnstate::hook::Decision;
use turnstate::message::{AssistantMessage, Content, StopReason, ToolCall, ToolResultMessage, UserMessage};
use turnstate::model::{Delta, Request};
use turnstate::tool::ToolOutput;
use turnstate::{Agent, Run};

use super::*;

/// A board, and an agent whose state is that of one which has not run.
struct Told {
    board: Board,
    agent: Agent<ChatMessage>,
}

impl Told {
    fn new() -> Self {
        let model = |_: Request| futures::stream::empty::<Delta>();
        let agent = Agent::new(Run::builder(model).custom_messages::<ChatMessage>().build());
        Self { board: Board::default(), agent }
    }

    /// The steps of an event, as pages are told them.
    fn hear(&mut self, event: AgentEvent<ChatMessage>) -> Vec<Value> {
        let mut steps = Vec::new();
        self.board.hear(&event, &self.agent.state(), &mut steps);
        json_of(&steps)
    }

    fn snapshot(&self) -> Value {
        serde_json::to_value(self.board.snapshot()).unwrap()
    }
}

fn json_of(steps: &[Step]) -> Vec<Value> {
    steps.iter().map(|step| serde_json::to_value(step).unwrap()).collect()
}

fn call(id: &str) -> Arc<ToolCall> {
    Arc::new(ToolCall::new(id, "search_notes", Map::new()))
}

fn grow(delta: Delta) -> AgentEvent<ChatMessage> {
    AgentEvent::MessageUpdate { delta }
}

#[test]
fn an_answer_grows_by_its_pieces_and_what_fits_nowhere_shows_nothing() {
    let mut told = Told::new();
    assert!(told.hear(grow(Delta::text(0, "before the answer"))).is_empty());
    told.hear(AgentEvent::MessageStart { message: AssistantMessage::default().into() });
    let begun = told.hear(grow(Delta::TextStart { index: 1 }));
    assert_eq!(begun, [json!({ "type": "answer", "block": { "index": 1, "kind": "text", "text": "" } })]);
    let grown = told.hear(grow(Delta::text(1, "so ")));
    assert_eq!(grown, [json!({ "type": "answer", "index": 1, "text": "so " })]);
    for nothing in
        [Delta::text(7, "nowhere"), Delta::text(1, ""), Delta::Start, Delta::done(StopReason::Stop)]
    {
        assert!(told.hear(grow(nothing)).is_empty());
    }
    told.hear(grow(Delta::text(1, "far")));
    assert_eq!(told.snapshot()["answer"]["blocks"][0]["text"], "so far");
    told.hear(AgentEvent::MessageEnd { message: AssistantMessage::text("so far").into() });
    let snapshot = told.snapshot();
    assert_eq!((&snapshot["answer"], &snapshot["messages"][0]["seen"]), (&Value::Null, &json!(true)));
}

#[test]
fn an_answer_that_failed_is_shown_as_one_that_the_model_does_not_see() {
    for (reason, flaw) in [(StopReason::Error, "failed"), (StopReason::Aborted, "stopped")] {
        let mut told = Told::new();
        let failed = AssistantMessage::text("half").with_stop_reason(reason);
        let steps = told.hear(AgentEvent::MessageEnd { message: failed.into() });
        assert_eq!((&steps[0]["shown"]["seen"], &steps[0]["mark"]["flaw"]), (&json!(false), &json!(flaw)));
    }
}

#[test]
fn calls_that_share_an_id_are_told_apart() {
    let mut told = Told::new();
    let (first, second) = (call("x"), call("x"));
    for call in [&first, &second] {
        told.hear(AgentEvent::ToolExecutionStart { call: call.clone() });
    }
    let partial = Arc::new(ToolOutput::text("half"));
    let update = told.hear(AgentEvent::ToolExecutionUpdate { call: second, partial });
    assert_eq!(update, [json!({ "type": "call_update", "call": 2, "progress": "half" })]);

    // Questions come in the order of the calls, one after the other.
    let mut steps = Vec::new();
    let (question, answered) = told.board.ask(&first, &mut steps);
    assert_eq!(json_of(&steps)[0]["question"]["call"], 1);
    assert!(told.board.decide(question, Decision::Allow, &mut steps));
    assert_eq!(answered.now_or_never().unwrap(), Ok(Decision::Allow));
    assert!(!told.board.decide(question, Decision::Allow, &mut steps), "it is answered already");
}

#[test]
fn a_question_that_nobody_waits_for_any_more_is_not_answered() {
    let mut told = Told::new();
    let mut steps = Vec::new();
    let (question, answered) = told.board.ask(&call("x"), &mut steps);
    drop(answered);
    assert!(!told.board.decide(question, Decision::Allow, &mut steps));
    assert_eq!(told.snapshot()["questions"], json!([]));
}

#[test]
fn a_waiting_message_is_gone_when_it_is_in_the_transcript_and_not_before() {
    let mut told = Told::new();
    let message: AgentMessage<ChatMessage> = UserMessage::new(vec![Content::text("same words")]).into();
    let other: AgentMessage<ChatMessage> = UserMessage::new(vec![Content::text("same words")]).into();
    let mut steps = Vec::new();
    told.board.wait(told.agent.steer(message.clone()), message.clone(), &mut steps);
    told.board.wait(told.agent.follow_up(other.clone()), other, &mut steps);
    assert_eq!(told.board.waiting(), 2);
    told.hear(AgentEvent::MessageEnd { message });
    assert_eq!(told.board.waiting(), 1);
    let queues: Vec<_> =
        told.snapshot()["waiting"].as_array().unwrap().iter().map(|one| one["queue"].clone()).collect();
    assert_eq!(queues, ["followUp"]);
}

#[test]
fn what_waits_for_a_turn_is_written_once_by_the_run_or_at_its_end() {
    let mut told = Told::new();
    let mut steps = Vec::new();
    let notes = ["a", "b"].map(|text| AgentMessage::from(ChatMessage::note(text)));
    notes.iter().for_each(|note| told.board.wait_here(note.clone(), &mut steps));
    let [first, second] = &told.board.give()[..] else { panic!("both are given") };
    let number = told.snapshot()["waiting"][1]["waiting"].as_u64().unwrap();
    assert_eq!(told.board.take_back(number, &mut steps), None, "the run has it");
    told.hear(AgentEvent::MessageEnd { message: first.clone() });
    // The run was stopped before it wrote the second; another one is under way, and then over.
    told.board.settle(|_| false, &mut steps);
    assert_eq!((told.board.waiting(), told.board.messages()), (1, 1));
    told.board.settle(|message| message == second, &mut steps);
    assert_eq!((told.board.waiting(), told.board.messages()), (0, 2));
}

#[test]
fn a_long_run_forgets_its_oldest_marks() {
    let mut told = Told::new();
    told.hear(AgentEvent::AgentStart);
    for _ in 0..2_000 {
        told.hear(AgentEvent::TurnStart);
    }
    assert_eq!(told.snapshot()["timeline"].as_array().unwrap().len(), 500);
    told.hear(AgentEvent::AgentStart);
    assert_eq!(told.snapshot()["timeline"].as_array().unwrap().len(), 1);
}

#[test]
fn what_a_tool_tells_is_shown_shortened_and_kept_whole_in_its_message() {
    let mut told = Told::new();
    let long = "ä".repeat(10_000);
    let running = call("x");
    told.hear(AgentEvent::ToolExecutionStart { call: running.clone() });
    let partial = Arc::new(ToolOutput::text(long.clone()));
    let update = told.hear(AgentEvent::ToolExecutionUpdate { call: running, partial });
    assert_eq!(update[0]["progress"].as_str().unwrap().chars().count(), 4_001);
    let result = ToolResultMessage::new("x", "search_notes", vec![Content::text(long.clone())]);
    told.hear(AgentEvent::MessageEnd { message: result.into() });
    assert_eq!(told.snapshot()["messages"][0]["message"]["content"][0]["text"], Value::from(long));
}
