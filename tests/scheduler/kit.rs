//! The kit itself: what it must find, it finds.

use std::panic::AssertUnwindSafe;
use std::pin::Pin;
use std::task::{Context, Poll};
use std::time::Duration;

use futures::Stream;
use proptest::prelude::*;
use serde_json::json;
use turnstate::message::{AgentMessage, Message, NoCustom, StopReason};
use turnstate::model::Delta;
use turnstate::testing::scenario::{
    Action, AnswerPlan, BeforePlan, CallEndPlan, CallPlan, Ended, EndingPlan, HookPlan, Planned, Scenario,
    StepPlan, ToolPlan,
};
use turnstate::testing::strategy::{Scenarios, scenario, text};
use turnstate::testing::{
    Checkable, Checker, Driven, ExecutionEnd, Gates, Response, Rule, ScriptedModel, ScriptedTool, ToolScript,
    VirtualClock, Workers, block_on,
};
use turnstate::tool::OnAbort;
use turnstate::{AgentEvent, CustomMessage, Run};

use crate::config;

proptest! {
    #![proptest_config(config())]

    /// Of a sound trace no event can be left out or told twice without being noticed, but for updates.
    #[test]
    fn the_checker_finds_every_event_that_is_missing_or_told_twice(scenario in scenario()) {
        let played = scenario.play();
        if played.ended == Ended::Dropped {
            return Ok(());
        }
        let events: Vec<_> = played.trace.events().cloned().collect();
        for at in 0..events.len() {
            if matches!(events[at], AgentEvent::MessageUpdate { .. } | AgentEvent::ToolExecutionUpdate { .. }) {
                continue;
            }
            let mut missing = events.clone();
            missing.remove(at);
            if !missing.is_empty() {
                prop_assert!(Checker::check_all(&missing).is_err(), "without event {at}:\n{}", played.trace);
            }
            let mut twice = events.clone();
            twice.insert(at, events[at].clone());
            prop_assert!(Checker::check_all(&twice).is_err(), "event {at} twice:\n{}", played.trace);
        }
    }

    /// An application's own messages get into prompts and queues, and reach the model as they project.
    #[test]
    fn scenarios_hold_the_applications_own_messages(
        scenario in Scenarios::new().with_custom_messages(text().prop_map(|text| Note::Note { text })).strategy(),
    ) {
        let played = scenario.play();
        let is_note = |message: &&AgentMessage<Note>| message.custom().is_some();
        let prompted = scenario.prompt.iter().filter(is_note).count();
        let written = played.added().iter().filter(is_note).count();
        prop_assert!(written >= prompted || played.ended != Ended::Finished, "{}", played.trace);
        let Some(first) = played.requests.first() else { return Ok(()) };
        let until_the_answer = played.trace.events().take_while(|event| {
            !matches!(event, AgentEvent::MessageStart { message } if message.as_assistant().is_some())
        });
        let told = until_the_answer.filter(|event| match event {
            AgentEvent::MessageEnd { message } => is_note(&message),
            _ => false,
        });
        let expected = played.before.iter().filter(is_note).count() + told.count();
        let seen = first.messages.iter().filter(|message| match message {
            Message::User(user) => user.content.texts().any(|text| text.starts_with("note: ")),
            _ => false,
        });
        prop_assert_eq!(seen.count(), expected, "{}", played.trace);
    }
}

/// A role of an application.
#[derive(Debug, PartialEq, CustomMessage)]
enum Note {
    #[message(user = "note: {text}")]
    Note { text: String },
}

#[test]
fn a_violation_names_the_rule_the_event_and_what_was_expected() {
    let scenario = Scenario::prompting("Hi")
        .tool(ToolPlan::new("read"))
        .answer(AnswerPlan::new().call(CallPlan::of_tool(0)).call(CallPlan::of_tool(0)));
    let mut events: Vec<_> = scenario.play().trace.events().cloned().collect();
    let results: Vec<_> = (0..events.len())
        .filter(|at| matches!(&events[*at], AgentEvent::MessageStart { message } if message.as_tool_result().is_some()))
        .collect();
    let [first, second] = results[..] else { panic!("two results") };
    events.swap(first, second);
    let violation = Checker::check_all(&events).unwrap_err();
    assert_eq!(violation.rule, Rule::OneResultPerCall);
    assert_eq!(
        violation.to_string(),
        format!(
            "event {first} breaks the rule \"each call has exactly one result, in the order of the calls\": \
             message_start          toolResult c1 \"c1 is done\"; expected the result of read#c0"
        )
    );
}

#[test]
fn a_trace_is_readable() {
    let read = ScriptedTool::new("read").does(ToolScript::new().update("half").returns("all"));
    let model = ScriptedModel::new([
        Response::thinking("hm").and_tool_call("c1", "read", json!({ "path": "a" })),
        Response::text("Done, é.").in_chunks_of(3),
    ]);
    let mut run = Driven::new(Run::builder(model).tool(read).build().prompt("Hi").checked());
    assert!(run.run_until_stalled().is_over);
    let trace = run.into_inner().into_parts().1.to_string();
    assert_eq!(
        trace,
        r#" 0 agent_start
 1 turn_start
 2 message_start          user "Hi"
 3 message_end            user "Hi"
 4 message_start          assistant [pending]
 5 message_update ×6      "hm{\"path\":\"a\"}"
11 message_end            assistant [toolUse] thinking "hm" read#c1 {"path":"a"}
12 tool_execution_start   read#c1 {"path":"a"}
13 tool_execution_update  read#c1 "half"
14 tool_execution_end     read#c1 "all"
15 message_start          toolResult c1 "all"
16 message_end            toolResult c1 "all"
17 turn_end               1 results
18 turn_start
19 message_start          assistant [pending]
20 message_update ×5      "Done, é."
25 message_end            assistant [stop] "Done, é."
26 turn_end
27 agent_end              4 messages
"#
    );
}

#[test]
fn a_scenario_shows_all_that_it_is_made_of() {
    let mut typed = ToolPlan::new("typed");
    typed.schema = json!({ "required": ["a"] });
    typed.fitting = json!({ "a": 1 });
    typed.on_abort = OnAbort::Wait;
    let mut again = CallPlan::of_tool(3).step(StepPlan::Wait).ending(CallEndPlan::Fails);
    again.repeats_id = true;
    let mut answer = AnswerPlan::new().text("I look.").call(CallPlan::of_tool(0)).call(again);
    answer.chunk = Some(2);
    let mut hooks = HookPlan::default();
    hooks.before = vec![Planned::waiting(BeforePlan::Block)];
    let scenario = Scenario::prompting("Hi")
        .tool(ToolPlan::new("read"))
        .tool(typed)
        .answer(answer)
        .answer(AnswerPlan::new().call(CallPlan::of_tool(0)).ending(EndingPlan::Done(StopReason::Length)))
        .hooks(hooks)
        .then_after(3, Action::Abort)
        .in_order([1]);
    assert_eq!(
        format!("{scenario:?}"),
        r#"Scenario
  prompt   user "Hi"
  tool     read
  tool     typed, waited for on abort, takes {"required":["a"]}: {"a":1}, and not []
  answer   (in pieces of 2) "I look." read#c0(returns) typed#c0(Wait, fails)
  answer   read#c1(returns) [length]
  hook     before_tool_call: wait+Block
  host     after 3 moments: abort
  order    [1]
"#
    );
}

/// A stream that goes by a list: `Some` is an item, `None` a pause that wakes if the second field says so.
struct Listed(Vec<Option<u8>>, bool);

impl Stream for Listed {
    type Item = u8;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<u8>> {
        if self.0.is_empty() {
            return Poll::Ready(None);
        }
        match self.0.remove(0) {
            Some(item) => Poll::Ready(Some(item)),
            None => {
                if self.1 {
                    cx.waker().wake_by_ref();
                }
                Poll::Pending
            }
        }
    }
}

#[test]
fn a_stream_that_wakes_itself_goes_on() {
    let mut driven = Driven::new(Listed(vec![Some(1), None, Some(2)], true));
    assert_eq!(driven.run_until_stalled().items, [1, 2]);
    assert_eq!((driven.polls(), driven.wakes()), (4, 1));
}

#[test]
#[should_panic(expected = "a wake-up was lost: nobody woke the stream, and yet a poll made progress")]
fn a_lost_wake_up_is_found() {
    Driven::new(Listed(vec![Some(1), None, Some(2)], false)).run_until_stalled();
}

#[test]
#[should_panic(expected = "busy: the stream was polled 10000 times in a row")]
fn a_busy_stream_is_found() {
    Driven::new(Listed(vec![None; 20_000], true)).run_until_stalled();
}

#[test]
#[should_panic(
    expected = "nothing can progress: the future is pending, and nobody woke it (this executor waits for no timer"
)]
fn a_future_that_would_hang_fails() {
    block_on(std::future::pending::<()>());
}

#[test]
fn workers_run_beside_the_run_and_gates_say_what_is_waited_for() {
    let (gates, workers) = (Gates::new(), Workers::new());
    let script = |gate: &str| ToolScript::new().waits(&gates.gate(gate)).returns(gate);
    let tool = ScriptedTool::new("t").on_call("a", script("first")).on_call("b", script("second"));
    let model = ScriptedModel::new([
        Response::tool_call("a", "t", json!({})).and_tool_call("b", "t", json!({})),
        Response::text("done"),
    ]);
    let run = Run::builder(model.clone()).tool(tool.clone()).spawner(workers.clone()).build().prompt("go");
    let mut run = Driven::new(run.checked()).with_gates(&gates).with_workers(&workers);
    let stall = run.run_until_stalled();
    assert_eq!(
        (stall.waiting, stall.is_over, workers.len()),
        (vec!["first".into(), "second".into()], false, 2)
    );
    let events = run.run_releasing(|waiting| waiting.len() - 1);
    let ended: Vec<_> = events
        .iter()
        .filter_map(|event| match event {
            AgentEvent::ToolExecutionEnd { call, .. } => Some(call.id.as_str()),
            _ => None,
        })
        .collect();
    assert_eq!(ended, ["b", "a"]);
    assert!(workers.is_empty());
    assert!(tool.executions().iter().all(|execution| execution.end == ExecutionEnd::Ended));
    model.assert_exhausted();
}

#[test]
fn a_model_that_is_asked_too_often_says_so() {
    let model = ScriptedModel::new([] as [Response; 0]);
    let run = block_on(Run::builder(model.clone()).build().prompt("Hi").finish());
    let error = run.state().error().unwrap().to_owned();
    assert_eq!(error, "request 1 to the scripted model, which has no answer left");
    let panic = std::panic::catch_unwind(AssertUnwindSafe(|| model.assert_exhausted())).unwrap_err();
    assert_eq!(
        panic.downcast_ref::<String>().unwrap(),
        "requests to the scripted model: 1, of which it could not answer: 1"
    );
}

#[test]
fn answers_that_are_pushed_come_before_what_is_always_answered() {
    for model in [
        ScriptedModel::from_fn(|_| Response::text("always")),
        ScriptedModel::new(["first"; 0]).then_always("always"),
    ] {
        model.push("pushed");
        let run = Run::builder(model.clone()).build();
        let run = block_on(run.prompt("Hi").finish());
        assert_eq!(run.transcript().last_answer_text(), "pushed");
        let run = block_on(run.prompt("Hi").finish());
        assert_eq!(run.transcript().last_answer_text(), "always");
        model.assert_exhausted();
    }
}

#[test]
fn what_is_added_to_deltas_is_a_block_of_its_own_and_no_index_overflows() {
    let text =
        [Delta::TextStart { index: 0 }, Delta::text(0, "a"), Delta::TextEnd { index: 0, signature: None }];
    let model = ScriptedModel::new([Response::deltas(text).and_text("b").stopping(StopReason::Stop)]);
    let run = block_on(Run::builder(model).build().prompt("Hi").finish());
    let answer = run.transcript()[1].as_assistant().unwrap();
    assert_eq!(answer.texts().collect::<Vec<_>>(), ["a", "b"]);
    let last = Delta::TextStart { index: u32::MAX };
    let model = ScriptedModel::new([Response::new().and_delta(last).and_text("a").and_text("b")]);
    let run = block_on(Run::builder(model).build().prompt("Hi").checked().finish());
    assert!(run.outcome().is_some(), "a malformed answer is no panic of the kit");
}

#[test]
fn a_virtual_clock_moves_a_run_that_sleeps() {
    let clock = VirtualClock::new();
    let sleeper = turnstate::tool::tool_fn("sleep", "Sleeps.", {
        let clock = clock.clone();
        async move |_: turnstate::tool::NoArgs, _| {
            clock.sleep(Duration::from_secs(3600)).await;
            Ok("slept")
        }
    });
    let model =
        ScriptedModel::new([Response::tool_call("a", "sleep", json!({})), Response::text("Good morning")]);
    let run = Run::builder(model).tool(sleeper).clock(clock.clone()).build().prompt("Sleep");
    let mut run = Driven::new(run.checked());
    assert!(!run.run_until_stalled().is_over);
    assert!(clock.advance_to_next());
    assert!(run.run_until_stalled().is_over);
    let slept = run.get_ref().state().transcript()[3].as_tool_result().unwrap().clone();
    assert_eq!((slept.duration_ms, slept.timestamp), (Some(3_600_000), 3_600_000));
}

#[test]
fn the_kit_goes_to_other_threads() {
    fn goes<T: Send + Sync + 'static>() {}
    goes::<ScriptedModel>();
    goes::<ScriptedTool>();
    goes::<Gates>();
    goes::<Workers>();
    goes::<VirtualClock>();
    goes::<Scenario<NoCustom>>();
}
