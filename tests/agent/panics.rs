//! A panic anywhere ends the run with a complete event sequence, and the agent goes on.

use std::future::Future;
use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures::FutureExt;
use futures::executor::block_on;
use futures::stream::Stream;
use turnstate::hook::{
    AfterToolCall, BeforeToolCall, FinishTurn, FinishedTurn, Hooks, PrepareNextTurn, PrepareRequest,
};
use turnstate::message::{AgentMessage, ToolCall, UserMessage};
use turnstate::model::{ApiKey, Delta, ModelError, Request, StreamFn};
use turnstate::tool::{NoArgs, ToolOutput, tool_fn};
use turnstate::transcript::Messages;
use turnstate::{Agent, CustomMessage, Ending, Hook, HookContext, Run, Transcript};

use crate::support::*;

/// A message whose projection panics while it is armed.
#[derive(Debug, Clone, CustomMessage)]
enum Trap {
    #[message(role = "trap", project = spring)]
    Trap {
        #[serde(skip)]
        armed: Arc<AtomicBool>,
    },
}

fn spring(trap: &Trap) -> UserMessage {
    let Trap::Trap { armed } = trap;
    assert!(!armed.load(Ordering::SeqCst), "the trap sprang");
    UserMessage::new("a trap")
}

#[test]
fn a_projection_that_panics_on_a_loaded_transcript_fails_the_run_and_not_the_prompt() {
    let armed = Arc::new(AtomicBool::new(true));
    let run = Run::builder(model([text("fine")]))
        .custom_messages::<Trap>()
        .transcript(vec![AgentMessage::Custom(Arc::new(Trap::Trap { armed: armed.clone() }))])
        .build();
    let agent = Agent::new(run);
    let log = Log::new();
    let _subscription = log.listen(&agent);
    let outcome = block_on(agent.prompt("Hi").unwrap());
    assert_eq!(outcome.ending, Ending::Failed { message: "the trap sprang".to_owned() });
    assert_eq!(texts(&outcome.added), ["user: Hi", "failed: the trap sprang"]);
    assert_eq!(
        log.take().join(" "),
        "agent_start turn_start message_start message_end message_start message_end turn_end agent_end"
    );
    armed.store(false, Ordering::SeqCst);
    let outcome = block_on(agent.resume().unwrap());
    assert_eq!(texts(&outcome.added), ["assistant: fine"]);
}

#[test]
fn a_prompt_that_was_not_yet_written_is_kept_when_its_run_is_dropped() {
    let run = run([text("fine")]);
    let mut run = run.prompt("Hi");
    block_on(run.next());
    let run = run.cancel();
    assert_eq!(texts(run.transcript()), ["user: Hi", "aborted: Request was aborted"]);
}

/// A stream that never says anything, and panics when it is dropped.
struct PanicsInDrop;

impl Stream for PanicsInDrop {
    type Item = Delta;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Delta>> {
        Poll::Pending
    }
}

impl Drop for PanicsInDrop {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

#[test]
fn a_model_stream_that_panics_in_its_drop_neither_escapes_nor_keeps_the_agent_busy() {
    let agent = Agent::new(Run::builder(|_: Request| PanicsInDrop).build());
    let mut running = agent.prompt("Hi").unwrap();
    assert!(settle(&mut running).is_none());
    agent.abort();
    let outcome = settle(&mut running).unwrap();
    assert_eq!(outcome.ending, Ending::Aborted);
    let mut running = agent.prompt("Again").unwrap();
    assert!(settle(&mut running).is_none());
    drop(running);
    assert!(agent.is_idle());
    assert_eq!(agent.state().outcome().unwrap().ending, Ending::Aborted);
}

/// Panics in one of its methods.
struct PanicsIn(&'static str);

impl PanicsIn {
    fn reach(&self, method: &str) {
        assert!(self.0 != method, "in {method}");
    }
}

impl<M: CustomMessage> Hook<M> for PanicsIn {
    async fn transform_context(&self, _: &mut Transcript<M>, _: HookContext<'_, M>) {
        self.reach("transform_context");
    }

    async fn convert(&self, _: &mut Messages, _: HookContext<'_, M>) {
        self.reach("convert");
    }

    async fn prepare_request(&self, _: HookContext<'_, M>) -> PrepareRequest<M> {
        self.reach("prepare_request");
        PrepareRequest::unchanged()
    }

    async fn prepare_next_turn(&self, _: &FinishedTurn, _: HookContext<'_, M>) -> PrepareNextTurn<M> {
        self.reach("prepare_next_turn");
        PrepareNextTurn::unchanged()
    }

    async fn before_tool_call(&self, _: &ToolCall, _: HookContext<'_, M>) -> BeforeToolCall {
        self.reach("before_tool_call");
        BeforeToolCall::Allow
    }

    async fn after_tool_call(&self, _: &ToolCall, _: &ToolOutput, _: HookContext<'_, M>) -> AfterToolCall {
        self.reach("after_tool_call");
        AfterToolCall::unchanged()
    }

    async fn finish_turn(&self, _: &FinishedTurn, _: HookContext<'_, M>) -> FinishTurn {
        self.reach("finish_turn");
        FinishTurn::Default
    }

    async fn api_key(&self, _: &str, _: HookContext<'_, M>) -> Result<Option<ApiKey>, ModelError> {
        self.reach("api_key");
        Ok(None)
    }
}

/// Panics in one of its methods before that gives a future, as a hook can that is written without `async`.
struct PanicsAtOnce(&'static str);

impl PanicsAtOnce {
    fn reach<T: Default>(&self, method: &str) -> impl Future<Output = T> + Send + use<T> {
        assert!(self.0 != method, "in {method}");
        std::future::ready(()).map(|()| T::default())
    }
}

impl<M: CustomMessage> Hook<M> for PanicsAtOnce {
    fn before_tool_call(
        &self,
        _: &ToolCall,
        _: HookContext<'_, M>,
    ) -> impl Future<Output = BeforeToolCall> + Send {
        self.reach("before_tool_call")
    }

    fn after_tool_call(
        &self,
        _: &ToolCall,
        _: &ToolOutput,
        _: HookContext<'_, M>,
    ) -> impl Future<Output = AfterToolCall> + Send {
        self.reach("after_tool_call")
    }
}

#[test]
fn a_hook_of_a_call_that_panics_at_once_fails_that_call_alone_wherever_it_runs() {
    for place in ["before_tool_call", "after_tool_call"] {
        for spawned in [false, true] {
            let model = model([calls(&[("a", "read", "{}"), ("b", "read", "{}")]), text("done")]);
            let mut builder = Run::builder(model).tool(quick("read"));
            if spawned {
                builder = builder.spawner(|future| smol::spawn(future).detach());
            }
            let run = within(builder.hook(PanicsAtOnce(place)).build().prompt("Hi").finish());
            let failed = format!("result: in {place}");
            let lines = texts(&run.outcome().unwrap().added);
            assert_eq!(lines[lines.len() - 3..], [failed.clone(), failed, "assistant: done".to_owned()]);
        }
    }
}

#[test]
fn a_panic_anywhere_ends_the_run_balanced_and_the_agent_takes_the_next_prompt() {
    let whole: &[&str] = &["user: Hi", "assistant: a", "result: read done"];
    // Where, whether the run goes on all the same, and what stands before its end.
    let table: [(&str, bool, &[&str]); 11] = [
        ("transform_context", false, &["user: Hi"]),
        ("convert", false, &["user: Hi"]),
        ("prepare_request", false, &["user: Hi"]),
        ("api_key", false, &["user: Hi"]),
        ("open stream", false, &["user: Hi"]),
        ("before_tool_call", true, &["user: Hi", "assistant: a", "result: in before_tool_call"]),
        ("after_tool_call", true, &["user: Hi", "assistant: a", "result: in after_tool_call"]),
        ("tool", true, &["user: Hi", "assistant: a", "result: The tool panicked: in tool"]),
        ("finish_turn", false, whole),
        ("prepare_next_turn", false, whole),
        ("mid stream", false, whole),
    ];
    for (place, goes_on, before) in table {
        let second =
            if place == "mid stream" { text("half").panicking("in mid stream") } else { text("done") };
        let scripted = model([call("a", "read"), second, text("next")]);
        let model = {
            let scripted = scripted.clone();
            move |request: Request| {
                assert!(place != "open stream", "in open stream");
                scripted.stream(request)
            }
        };
        let tool = tool_fn("read", "Reads.", async move |_: NoArgs, _| {
            assert!(place != "tool", "in tool");
            Ok("read done")
        });
        let agent = Agent::new(Run::builder(model).tool(tool).hook(PanicsIn(place)).build());
        agent.edit_transcript(Transcript::clear).unwrap();
        let log = Log::new();
        log.listen(&agent).keep();
        let outcome = block_on(agent.prompt("Hi").unwrap());
        let mut lines = texts(&outcome.added);
        lines.retain(|line| !line.starts_with("system"));
        let mut expected: Vec<String> = before.iter().map(ToString::to_string).collect();
        let message = format!("in {place}");
        expected.push(match (goes_on, place) {
            (true, _) => "assistant: done".to_owned(),
            (false, "mid stream") => format!("failed: half | {message}"),
            (false, _) => format!("failed: {message}"),
        });
        assert_eq!(lines, expected, "{place}");
        if !goes_on {
            assert_eq!(outcome.ending, Ending::Failed { message });
        }
        assert_balanced(&log.take());
        agent.set_hooks(Hooks::new());
        agent.set_model_stream(scripted);
        assert!(block_on(agent.prompt("and now").unwrap()).is_success(), "{place}");
        assert_balanced(&log.take());
    }
}
