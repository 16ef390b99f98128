//! Small scopes, in full: every completion order of a few calls, every placement of one thing that a host does.
//!
//! The scheduling decisions themselves are a table of pure functions, tested in full beside their code.

use serde_json::json;
use turnstate::message::{AgentMessage, NoCustom, StopReason};
use turnstate::run::QueueKind;
use turnstate::testing::scenario::{
    Action, AnswerPlan, BlockPlan, CallPlan, Ended, FinishPlan, HookPlan, Planned, Played, Scenario,
    StepPlan, ToolPlan,
};
use turnstate::testing::{Checkable, Driven, Response, ScriptedModel, ScriptedTool, ToolScript, block_on};
use turnstate::{AgentEvent, Run};

use crate::laws::{assert_results_follow_their_calls, places};

/// Calls that each wait on a gate of their own end in the order in which the gates are released; their results stand in
/// the order of the calls.
#[test]
fn every_completion_order_of_up_to_five_parallel_calls() {
    let mut played = 0;
    for count in 1..=5 {
        let mut answer = AnswerPlan::new();
        for _ in 0..count {
            answer = answer.call(CallPlan::of_tool(0).step(StepPlan::Wait).step(StepPlan::Update));
        }
        let scenario = Scenario::prompting("go").tool(ToolPlan::new("t")).answer(answer);
        for order in permutations(count) {
            let stage = scenario.stage();
            let mut run = Driven::new(stage.run.prompt("go").checked()).with_gates(&stage.gates);
            let events = run.run_in_order(order.iter().map(|call| format!("tool c{call}.0")));
            let ended: Vec<_> = events.iter().filter_map(ended_call).collect();
            assert_eq!(ended, ids(order), "{}", run.get_ref().trace());
            let results: Vec<_> = events.iter().filter_map(result_of).collect();
            assert_eq!(results, ids(0..count), "{}", run.get_ref().trace());
            played += 1;
        }
    }
    assert_eq!(played, 1 + 2 + 6 + 24 + 120);
}

/// The consumer is told of a call's end before any other call goes on: it may still stop the others.
#[test]
fn every_batch_of_up_to_four_calls_that_do_not_wait_goes_on_only_when_its_events_are_read() {
    for (count, tells) in (1..=4).flat_map(|count| (0..1 << count).map(move |tells| (count, tells))) {
        let (mut tool, mut answer) = (ScriptedTool::new("t"), Response::new());
        for (at, id) in ids(0..count).into_iter().enumerate() {
            let script = ToolScript::new();
            let script = if tells >> at & 1 == 1 { script.update("half") } else { script };
            tool = tool.on_call(id.clone(), script.returns("done"));
            answer = answer.and_tool_call(id, "t", json!({}));
        }
        let model = ScriptedModel::new([answer]).then_always("done");
        let mut run = Run::builder(model).tool(tool.clone()).build().prompt("go");
        let mut told = 0;
        while let Some(event) = block_on(run.next()) {
            told += usize::from(ended_call(&event).is_some());
            let ended = tool.executions().len();
            let waits = usize::from(matches!(event, AgentEvent::ToolExecutionUpdate { .. }));
            assert_eq!(ended, told + waits, "{} of {count} calls, {tells:b}", event.kind());
        }
        assert_eq!(told, count);
    }
}

fn ids(calls: impl IntoIterator<Item = usize>) -> Vec<String> {
    calls.into_iter().map(|call| format!("c{call}")).collect()
}

fn ended_call(event: &AgentEvent) -> Option<String> {
    match event {
        AgentEvent::ToolExecutionEnd { call, .. } => Some(call.id.clone()),
        _ => None,
    }
}

fn result_of(event: &AgentEvent) -> Option<String> {
    match event {
        AgentEvent::MessageEnd { message } => {
            message.as_tool_result().map(|result| result.tool_call_id.clone())
        }
        _ => None,
    }
}

fn permutations(count: usize) -> Vec<Vec<usize>> {
    let Some(last) = count.checked_sub(1) else { return vec![Vec::new()] };
    let insert = |order: Vec<usize>| {
        (0..=order.len()).map(move |at| {
            let mut order = order.clone();
            order.insert(at, last);
            order
        })
    };
    permutations(last).into_iter().flat_map(insert).collect()
}

/// Two tools and two turns, with everything that can wait: the model, both tools, every hook.
fn two_tools_and_two_turns() -> Scenario {
    let call = |tool| CallPlan::of_tool(tool).step(StepPlan::Update).step(StepPlan::Wait);
    let mut hooks = HookPlan::default();
    hooks.before = vec![Planned::waiting(Default::default()); 2];
    hooks.after = vec![Planned::waiting(Default::default()); 2];
    hooks.finish = vec![Planned::waiting(FinishPlan::Default); 2];
    hooks.next_turn = vec![Planned::waiting(Default::default())];
    hooks.request = vec![Planned::waiting(Default::default()); 2];
    Scenario::prompting("go")
        .tool(ToolPlan::new("a"))
        .tool(ToolPlan::new("b"))
        .answer(AnswerPlan::new().block(BlockPlan::Wait).call(call(0)).call(call(1)))
        .answer(AnswerPlan::new().text("done").block(BlockPlan::Wait))
        .hooks(hooks)
}

/// More moments than the scenario has.
const MOMENTS: usize = 70;

/// The scenario with an action at each of its moments, and what came of it. A moment after the end is the end.
fn placements(action: impl Fn() -> Action) -> Vec<Played<NoCustom>> {
    let undisturbed = two_tools_and_two_turns().play();
    let stops = undisturbed.trace.to_string().matches("-- release").count();
    let moments = undisturbed.trace.len() + stops + 1;
    assert!(moments < MOMENTS, "{moments}");
    (0..=moments).map(|moment| two_tools_and_two_turns().then_after(moment, action()).play()).collect()
}

fn answers(played: &Played<NoCustom>) -> Vec<StopReason> {
    played.added().iter().filter_map(AgentMessage::as_assistant).map(|answer| answer.stop_reason).collect()
}

#[test]
fn every_placement_of_one_abort_ends_the_run_at_once_and_whole() {
    for played in placements(|| Action::Abort) {
        assert_eq!(played.held_up, [""; 0], "{}", played.trace);
        assert_results_follow_their_calls(&played).unwrap();
        let answers = answers(&played);
        let Some(requests) = played.requests_before_abort else {
            assert_eq!(answers, [StopReason::ToolUse, StopReason::Stop], "{}", played.trace);
            continue;
        };
        assert_eq!(played.requests.len(), requests, "{}", played.trace);
        // One aborted answer, unless the last answer was complete.
        let aborted = answers.iter().filter(|reason| **reason == StopReason::Aborted).count();
        let complete = answers.last() == Some(&StopReason::Stop);
        assert_eq!(aborted, usize::from(!complete), "{}", played.trace);
        assert!(matches!(played.outcome().unwrap().ending, turnstate::Ending::Aborted));
    }
}

#[test]
fn every_placement_of_one_steer_puts_it_in_before_the_next_request() {
    for played in placements(|| Action::Steer(AgentMessage::user("wait"))) {
        let Some(steer) = played.queued.first() else {
            // It came after the end.
            assert_eq!(answers(&played).len(), 2);
            continue;
        };
        assert_results_follow_their_calls(&played).unwrap();
        let written = places(&played.transcript, &steer.message);
        let after_the_end = played.host.iter().any(|done| done.events == played.trace.len());
        if after_the_end || written.is_empty() {
            assert_eq!(played.handle.queued_len(QueueKind::Steering), 1, "{}", played.trace);
            continue;
        }
        // The model has answered it: an answer follows, and it was in that answer's request.
        let [at] = written[..] else { panic!("written {written:?}\n{}", played.trace) };
        let next = played.transcript.get(at + 1).and_then(AgentMessage::as_assistant);
        assert!(next.is_some(), "{}", played.trace);
    }
}

#[test]
fn every_placement_of_one_follow_up_is_answered_last() {
    for played in placements(|| Action::FollowUp(AgentMessage::user("also"))) {
        let Some(follow_up) = played.queued.first() else { continue };
        assert_results_follow_their_calls(&played).unwrap();
        let written = places(&played.transcript, &follow_up.message);
        let waiting = played.handle.queued_len(QueueKind::FollowUp);
        assert_eq!(written.len() + waiting, 1, "{}", played.trace);
        if let [at] = written[..] {
            assert_eq!(at + 2, played.transcript.len(), "{}", played.trace);
        }
    }
}

#[test]
fn every_placement_of_one_drop_or_cancel_leaves_a_transcript_that_goes_on() {
    for played in placements(|| Action::Drop).into_iter().chain(placements(|| Action::Cancel)) {
        if let Ended::Cancelled = played.ended {
            assert_results_follow_their_calls(&played).unwrap();
        }
        // A dropped run's transcript is what its host has stored; another run goes on from it.
        let mut next = two_tools_and_two_turns().stage();
        *next.run.transcript_mut() = played.transcript.clone();
        let mut run = Driven::new(next.run.prompt("again").checked()).with_gates(&next.gates);
        run.run_releasing(|_| 0);
        assert!(run.get_ref().state().outcome().is_some());
        if let Some(idle) = played.run {
            let mut run = Driven::new(idle.prompt("again").checked()).with_gates(&played.gates);
            run.run_releasing(|_| 0);
            assert!(run.get_ref().state().outcome().is_some());
        }
    }
}

#[test]
fn every_placement_of_one_abort_and_one_steer_loses_nothing() {
    for steer_at in 0..MOMENTS {
        for later in 0..MOMENTS - steer_at {
            let played = two_tools_and_two_turns()
                .then_after(steer_at, Action::Steer(AgentMessage::user("wait")))
                .then_after(later, Action::Abort)
                .play();
            let Some(steer) = played.queued.first() else { break };
            let written = places(&played.transcript, &steer.message).len();
            let waiting = places(&played.handle.queued(QueueKind::Steering), &steer.message).len();
            assert_eq!(written + waiting, 1, "{}", played.trace);
            assert_eq!(played.held_up, [""; 0], "{}", played.trace);
        }
    }
}
