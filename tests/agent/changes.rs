//! What changes between runs, and between turns.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::executor::block_on;
use turnstate::hook::{Hooks, PrepareNextTurn};
use turnstate::message::{AgentMessage, ThinkingLevel};
use turnstate::model::{Model, Request};
use turnstate::testing::{Gate, Response, ScriptedModel};
use turnstate::tool::{AgentTool, ExecutionMode, NoArgs, tool_fn};
use turnstate::{Agent, CustomMessage, Run, TurnChange};

use crate::support::*;

/// What a request shows of the run's settings.
fn settings(request: &Request) -> (String, Option<ThinkingLevel>, Vec<String>) {
    let tools = request.tools().iter().map(|tool| tool.name.clone()).collect();
    (request.model.id.clone(), request.thinking_level, tools)
}

fn expected(
    model: &str,
    level: Option<ThinkingLevel>,
    tools: &[&str],
) -> (String, Option<ThinkingLevel>, Vec<String>) {
    (model.to_owned(), level, tools.iter().map(ToString::to_string).collect())
}

fn m(id: &str) -> Model {
    Model::new("p", id)
}

/// An agent with a tool that waits at a gate: `c1` in the first turn of its first run.
fn waiting(answers: impl IntoIterator<Item = Response>) -> (Agent, ScriptedModel, Gate) {
    let gate = gate();
    let model = model(answers);
    let run = Run::builder(model.clone()).model(m("m1")).tool(gated("read", &gate)).build();
    (Agent::new(run), model, gate)
}

#[test]
fn what_is_set_during_a_run_counts_from_the_next_run_on() {
    let (agent, model, gate) =
        waiting([call("c1", "read"), call("c2", "calc"), text("one"), call("c3", "calc"), text("two")]);
    let mut running = agent.prompt("Hi").unwrap();
    assert!(settle(&mut running).is_none());
    agent.set_model(m("m2"));
    agent.set_thinking_level(ThinkingLevel::High);
    agent.set_tools([quick("calc")]);
    agent.set_api_key("secret");
    agent.set_tool_execution(ExecutionMode::Sequential);
    // It is what was assigned, at once.
    assert_eq!(agent.model().id, "m2");
    assert_eq!(agent.thinking_level(), ThinkingLevel::High);
    assert_eq!(agent.tools().as_slice().iter().map(AgentTool::name).collect::<Vec<_>>(), ["calc"]);
    assert_eq!(agent.tool_execution(), ExecutionMode::Sequential);
    gate.release();
    let outcome = settle(&mut running).unwrap();
    assert_eq!(texts(&outcome.added)[4], "result: There is no tool `calc`. The tools are: `read`.");
    block_on(agent.prompt("next").unwrap());
    let requests = model.requests();
    let before = expected("m1", None, &["read"]);
    let after = expected("m2", Some(ThinkingLevel::High), &["calc"]);
    assert_eq!(
        requests.iter().map(settings).collect::<Vec<_>>(),
        [before.clone(), before.clone(), before, after.clone(), after]
    );
    assert_eq!(requests[2].api_key, None);
    assert_eq!(requests[3].api_key.as_ref().unwrap().reveal(), "secret");
}

#[test]
fn hooks_and_the_model_itself_can_be_replaced_during_a_run() {
    let (agent, first, gate) = waiting([call("c1", "read"), text("one")]);
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let run = Run::builder(model([]))
        .finish_turn(async move |_, _| {
            count.fetch_add(1, Ordering::SeqCst);
            turnstate::hook::FinishTurn::Default
        })
        .build();
    let hooks: Hooks = run.hooks().clone();
    let mut running = agent.prompt("Hi").unwrap();
    assert!(settle(&mut running).is_none());
    agent.set_hooks(hooks);
    let other = model([text("other")]);
    agent.set_model_stream(other.clone());
    gate.release();
    settle(&mut running).unwrap();
    assert_eq!((asked.load(Ordering::SeqCst), first.requests().len()), (0, 2));
    block_on(agent.prompt("next").unwrap());
    assert_eq!((asked.load(Ordering::SeqCst), first.requests().len(), other.requests().len()), (1, 2, 1));
    assert_eq!(agent.hooks().len(), 1);
}

#[test]
fn a_change_for_the_next_turn_counts_to_the_end_of_the_run_and_no_longer() {
    let (agent, model, gate) = waiting([call("c1", "read"), call("c2", "calc"), text("one"), text("two")]);
    let mut running = agent.prompt("Hi").unwrap();
    assert!(settle(&mut running).is_none());
    assert!(agent.change_next_turn(TurnChange::new().with_model(m("lost")).with_tools([quick("calc")])));
    // The later counts, each field by itself; through a handle as well.
    let later = TurnChange::new().with_model(m("m2")).with_thinking_level(ThinkingLevel::Low);
    assert!(agent.handle().change_next_turn(later));
    gate.release();
    let outcome = settle(&mut running).unwrap();
    assert_eq!(
        texts(&outcome.added),
        [
            "user: Hi",
            "assistant: c1",
            "result: read done",
            "system: ",
            "assistant: c2",
            "result: calc done",
            "assistant: one"
        ]
    );
    let declared = outcome.added[3].as_system().unwrap();
    assert_eq!(declared.tools_added[0].name, "calc");
    assert_eq!(declared.tools_removed[0].name, "read");
    block_on(agent.prompt("next").unwrap());
    assert_eq!(
        model.requests().iter().map(settings).collect::<Vec<_>>(),
        [
            expected("m1", None, &["read"]),
            expected("m2", Some(ThinkingLevel::Low), &["calc"]),
            expected("m2", Some(ThinkingLevel::Low), &["calc"]),
            expected("m1", None, &["read"]),
        ]
    );
}

#[test]
fn a_change_for_the_next_turn_is_refused_while_idle_and_dropped_at_the_end_of_the_run() {
    let gate = gate();
    let model = model([text_until("a", &gate, "b"), call("c1", "read"), text("two")]);
    let run = Run::builder(model.clone()).model(m("m1")).tool(quick("read")).build();
    let agent = Agent::new(run);
    assert!(!agent.change_next_turn(TurnChange::new().with_model(m("m2"))));
    let mut running = agent.prompt("Hi").unwrap();
    assert!(settle(&mut running).is_none());
    assert!(agent.change_next_turn(TurnChange::new().with_model(m("m3"))));
    gate.release();
    settle(&mut running).unwrap();
    block_on(agent.prompt("next").unwrap());
    let models: Vec<_> = model.requests().iter().map(|request| request.model.id.clone()).collect();
    assert_eq!(models, ["m1", "m1", "m1"]);
}

#[test]
fn hooks_see_a_change_for_the_next_turn_and_may_change_it_again() {
    let gate = gate();
    let model = model([call("c1", "read"), text("one")]);
    let log = Log::new();
    let seen = log.clone();
    let run = Run::builder(model.clone())
        .model(m("m1"))
        .tool(gated("read", &gate))
        .prepare_next_turn(async move |_, cx| {
            seen.note(format!("{} {}", cx.model.id, cx.thinking_level));
            PrepareNextTurn::unchanged().with_model(m("hook"))
        })
        .build();
    let agent = Agent::new(run);
    let mut running = agent.prompt("Hi").unwrap();
    assert!(settle(&mut running).is_none());
    let change = TurnChange::new().with_model(m("m2")).with_thinking_level(ThinkingLevel::Low);
    assert!(agent.change_next_turn(change));
    gate.release();
    settle(&mut running).unwrap();
    assert_eq!(log.take(), ["m2 low"]);
    assert_eq!(settings(&model.requests()[1]), expected("hook", Some(ThinkingLevel::Low), &["read"]));
}

#[test]
fn after_an_abort_no_change_is_taken() {
    let (agent, _, _gate) = waiting([call("c1", "read"), text("one")]);
    let mut running = agent.prompt("Hi").unwrap();
    assert!(settle(&mut running).is_none());
    assert!(agent.change_next_turn(TurnChange::new().with_model(m("m2"))));
    agent.abort();
    let outcome = settle(&mut running).unwrap();
    assert_eq!(outcome.added.last().unwrap().as_assistant().unwrap().model, "m1");
}

#[test]
fn the_transcript_can_be_edited_between_runs() {
    let agent = agent([text("one"), text("two")]);
    block_on(agent.prompt("Hi").unwrap());
    let kept = agent.edit_transcript(|transcript| {
        transcript.make_mut().truncate(1);
        transcript.push(AgentMessage::user("and"));
        transcript.len()
    });
    assert_eq!(kept, Ok(2));
    assert_eq!(texts(agent.state().transcript()), ["user: Hi", "user: and"]);
    let outcome = block_on(agent.resume().unwrap());
    assert_eq!(texts(&outcome.added), ["assistant: two"]);
    assert_eq!(texts(agent.state().transcript()), ["user: Hi", "user: and", "assistant: two"]);
}

#[test]
fn an_edit_that_panics_keeps_what_it_did_and_leaves_the_agent_idle() {
    let agent = agent([text("one")]);
    let editing = std::panic::AssertUnwindSafe(|| {
        agent.edit_transcript(|transcript| {
            transcript.push(AgentMessage::user("Hi"));
            assert!(agent.prompt("inside").is_err());
            panic!("edit");
        })
    });
    assert!(std::panic::catch_unwind(editing).is_err());
    assert!(agent.is_idle());
    assert_eq!(texts(agent.state().transcript()), ["user: Hi"]);
    assert_eq!(texts(&block_on(agent.resume().unwrap()).added), ["assistant: one"]);
}

#[test]
fn a_reset_keeps_the_system_message_and_empties_the_queues() {
    let run =
        Run::builder(model([text("one"), text("fresh")])).system_prompt("base").tool(quick("read")).build();
    let agent = Agent::new(run);
    block_on(agent.prompt("Hi").unwrap());
    let _ = (agent.steer("s"), agent.follow_up("f"));
    agent.reset().unwrap();
    let state = agent.state();
    assert_eq!((state.transcript().len(), state.system_prompt()), (1, "base".to_owned()));
    assert!(state.outcome().is_none() && state.added().is_empty());
    assert!(!agent.has_queued());
    let outcome = block_on(agent.prompt("anew").unwrap());
    assert_eq!(texts(&outcome.added), ["user: anew", "assistant: fresh"]);
}

/// A tool whose drop asks its own agent.
struct AsksWhenDropped(turnstate::agent::WeakAgent, Log);

impl Drop for AsksWhenDropped {
    fn drop(&mut self) {
        if let Some(agent) = self.0.upgrade() {
            self.1.note(format!("idle: {}", agent.is_idle()));
        }
    }
}

#[test]
fn a_replaced_tool_may_ask_its_agent_while_it_is_dropped() {
    let agent = agent([text("one")]);
    let log = Log::new();
    let guard = Arc::new(AsksWhenDropped(agent.downgrade(), log.clone()));
    let tool = tool_fn("guarded", "Holds a guard.", async move |_: NoArgs, _| {
        let _ = &guard;
        Ok("done")
    });
    agent.set_tools([tool]);
    block_on(agent.prompt("Hi").unwrap());
    agent.set_tools([]);
    // The idle run still holds it; the next run lets it go.
    assert_eq!(log.take(), [""; 0]);
    block_on(agent.prompt("Hi").unwrap());
    assert_eq!(log.take(), ["idle: false"]);
}

#[test]
fn custom_messages_can_be_prompts_and_steers() {
    #[derive(Debug, CustomMessage)]
    enum Note {
        #[message(role = "note", user = "{text}")]
        Note { text: String },
    }
    let note = |text: &str| Note::Note { text: text.to_owned() };
    let run = Run::builder(model([text("one"), text("two")])).custom_messages::<Note>().build();
    let agent = Agent::new(run);
    let _ = agent.follow_up(note("later"));
    let outcome = block_on(agent.prompt(note("now")).unwrap());
    assert_eq!(texts(&outcome.added), ["custom: ", "assistant: one", "custom: ", "assistant: two"]);
    assert_eq!(outcome.added[2].custom().unwrap().role(), "note");
}

/// A message whose drop asks the agent and its queues.
#[derive(Debug, CustomMessage)]
enum Asking {
    #[message(role = "asking", user = "asking")]
    Asking {
        #[serde(skip)]
        probe: Probe,
    },
}

#[derive(Debug, Default)]
struct Probe(Option<turnstate::agent::WeakAgent<Asking>>);

impl Drop for Probe {
    fn drop(&mut self) {
        if let Some(agent) = self.0.as_ref().and_then(turnstate::agent::WeakAgent::upgrade) {
            let _ = (agent.state(), agent.has_queued(), agent.is_idle());
        }
    }
}

#[test]
fn a_message_may_ask_its_agent_while_it_is_dropped() {
    // A deadlock is a failure here, not a test that hangs.
    let (done, is_done) = std::sync::mpsc::channel();
    std::thread::spawn(move || {
        let run = Run::builder(model([])).custom_messages::<Asking>().build();
        let agent = Agent::new(run);
        let asking = || Asking::Asking { probe: Probe(Some(agent.downgrade())) };
        for forget in [false, true] {
            let _ = agent.steer(asking());
            let _ = agent.follow_up(asking());
            block_on(agent.prompt(asking()).unwrap());
            if forget {
                agent.reset().unwrap();
            } else {
                agent.edit_transcript(turnstate::Transcript::clear).unwrap();
            }
            // The last run's outcome and what was last taken from a queue hold the rest.
            let _ = agent.steer("text");
            block_on(agent.prompt("text").unwrap());
        }
        let _ = (agent.steer(asking()), agent.follow_up(asking()));
        agent.clear_queues();
        done.send(()).unwrap();
    });
    is_done.recv_timeout(std::time::Duration::from_secs(20)).unwrap();
}
