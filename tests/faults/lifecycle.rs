//! Every run ends, once, whatever fails.

use turnstate::hook::{FinishTurn, FinishedTurn, PrepareNextTurn, PrepareRequest};
use turnstate::message::{AgentMessage, NoCustom, StopReason};
use turnstate::model::{ApiKey, ModelError, Request};
use turnstate::testing::{Checkable, Gates, Response, ScriptedModel, ScriptedTool, block_on};
use turnstate::tool::IntoTool;
use turnstate::transcript::Messages;
use turnstate::{
    AbortSignal, AgentEvent, Ending, Hook, HookContext, LoopConfig, MessageSource, Run, Tools, Transcript,
    agent_loop,
};

use crate::support::*;

/// A hook, and a source of messages, that panics in one place.
#[derive(Clone, Copy)]
struct FailsIn(&'static str);

impl FailsIn {
    fn at(self, place: &str) {
        if self.0 == place {
            std::panic::resume_unwind(Box::new(format!("{place} failed")));
        }
    }
}

impl Hook<NoCustom> for FailsIn {
    async fn transform_context(&self, _: &mut Transcript, _: HookContext<'_>) {
        self.at("transform_context");
    }

    async fn convert(&self, _: &mut Messages, _: HookContext<'_>) {
        self.at("convert");
    }

    async fn prepare_request(&self, _: HookContext<'_>) -> PrepareRequest {
        self.at("prepare_request");
        PrepareRequest::unchanged()
    }

    async fn prepare_next_turn(&self, _: &FinishedTurn, _: HookContext<'_>) -> PrepareNextTurn {
        self.at("prepare_next_turn");
        PrepareNextTurn::unchanged()
    }

    async fn finish_turn(&self, _: &FinishedTurn, _: HookContext<'_>) -> FinishTurn {
        self.at("finish_turn");
        FinishTurn::Default
    }

    async fn api_key(&self, _: &str, _: HookContext<'_>) -> Result<Option<ApiKey>, ModelError> {
        self.at("api_key");
        if self.0 == "no api_key" { Err("no api_key failed".into()) } else { Ok(None) }
    }
}

impl MessageSource<NoCustom> for FailsIn {
    fn take_steering(&self) -> Vec<AgentMessage> {
        self.at("take_steering");
        Vec::new()
    }

    fn take_follow_ups(&self) -> Vec<AgentMessage> {
        self.at("take_follow_ups");
        Vec::new()
    }

    fn give_back(&self, _: usize) {}
}

/// The stateless loop over a batch and a text, with one thing that fails.
fn looping(place: &'static str) -> turnstate::AgentLoop {
    let model = batch(&[("a", "read")]);
    let mut config = LoopConfig::new(move |request: Request| {
        FailsIn(place).at("stream");
        turnstate::model::StreamFn::stream(&model, request)
    });
    config.tools = Tools::new([ScriptedTool::new("read").into_tool()]);
    config.hooks.push(FailsIn(place));
    config.messages = std::sync::Arc::new(FailsIn(place));
    agent_loop(vec![AgentMessage::user("go")], Transcript::new(), config, AbortSignal::new())
}

#[test]
fn whatever_fails_around_the_stateless_loop_it_tells_a_failed_answer_and_its_end() {
    for place in [
        "transform_context",
        "convert",
        "prepare_request",
        "prepare_next_turn",
        "finish_turn",
        "api_key",
        "no api_key",
        "take_steering",
        "take_follow_ups",
        "stream",
    ] {
        let mut running = looping(place).checked();
        let mut events = Vec::new();
        block_on(async {
            while let Some(event) = running.next().await {
                events.push(event);
            }
        });
        let last: Vec<_> = events.iter().rev().take(4).rev().map(AgentEvent::kind).collect();
        assert_eq!(last, ["message_start", "message_end", "turn_end", "agent_end"], "{place}");
        let message = format!("{place} failed");
        assert_eq!(story(running.state().transcript()).last().unwrap(), &format!("failed: {message}"));
        assert_eq!(running.state().outcome().unwrap().ending, Ending::Failed { message });
        assert_eq!(count(&events, "agent_end"), 1);
    }
}

#[test]
fn the_end_is_told_once_and_last_on_every_way_out() {
    let gates = Gates::new();
    let answers = || Run::builder(batch(&[("a", "read")])).tool(ScriptedTool::new("read"));
    let with = |answer: Response| Run::builder(ScriptedModel::new([answer])).build();
    let aborts = answers()
        .before_tool_call(async |_, cx| {
            cx.abort.abort();
            turnstate::hook::BeforeToolCall::Allow
        })
        .build();
    let table = [
        ("success", answers().build()),
        ("error", with(Response::error("no"))),
        ("broken off", with(Response::text("half").unterminated())),
        ("panic", with(Response::text("half").panicking("boom"))),
        ("length", with(Response::text("half").stopping(StopReason::Length))),
        ("limit", answers().finish_turn(async |_, _| FinishTurn::end("limit")).build()),
        ("abort", aborts),
    ];
    for (way, run) in table {
        let (_, events) = told(run.prompt("go"));
        assert_eq!(count(&events, "agent_end"), 1, "{way}");
        assert!(matches!(events.last(), Some(AgentEvent::AgentEnd { .. })), "{way}");
    }
    let mut run = drive(with(Response::text("half").and_wait(&gates.gate("rest"))).prompt("go"), &gates);
    run.run_until_stalled();
    let (_, events) = run.into_inner().into_parts().0.cancel_with_events();
    assert_eq!(steps(&events), ["assistant", "turn_end", "agent_end"]);
}

#[test]
fn a_run_that_is_polled_after_its_end_stays_over() {
    let mut run = Run::builder(ScriptedModel::new(["one"])).build().prompt("go");
    block_on(async {
        while run.next().await.is_some() {}
        assert!(run.next().await.is_none());
        assert!(run.next().await.is_none());
    });
}
