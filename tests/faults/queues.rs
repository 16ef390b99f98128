//! Queued messages: delivered once, in order, whole, or still in their queue.

use turnstate::message::{AgentMessage, Content, UserContent, UserMessage};
use turnstate::run::QueueKind;
use turnstate::testing::{Gates, ScriptedModel, ScriptedTool, block_on};
use turnstate::{Agent, Run};

use crate::support::*;

#[test]
fn steers_of_an_aborted_run_are_delivered_once_and_first_by_the_next_one() {
    let agent = Agent::new(Run::builder(batch(&[("a", "read")])).tool(ScriptedTool::new("read")).build());
    let handle = agent.handle();
    let subscription = agent.subscribe(async move |event, _| {
        if event.kind() == "turn_end" && handle.queued_len(QueueKind::Steering) == 0 {
            let _ = (handle.steer("first"), handle.steer("second"));
            handle.abort();
        }
    });
    block_on(agent.prompt("go").unwrap());
    drop(subscription);
    assert_eq!(story(&agent.queued(QueueKind::Steering)), ["user: first", "user: second"]);
    let _ = agent.steer("third");
    block_on(agent.prompt("on").unwrap());
    let mut told = story(agent.state().transcript());
    told.retain(|line| line.starts_with("user"));
    assert_eq!(told, ["user: go", "user: on", "user: first", "user: second", "user: third"]);
    assert!(!agent.has_queued());
}

#[test]
fn a_steer_that_was_taken_and_not_yet_written_goes_back_to_the_head_of_its_queue() {
    for cancels in [true, false] {
        let run = Run::builder(batch(&[("a", "read")])).tool(ScriptedTool::new("read")).build();
        let mut run = run.prompt("go");
        let handle = run.handle();
        block_on(async {
            let mut turns = 0;
            while let Some(event) = run.next().await {
                turns += usize::from(event.kind() == "turn_start");
                if event.kind() == "tool_execution_end" {
                    let _ = (handle.steer("first"), handle.steer("second"));
                }
                if turns == 2 {
                    break;
                }
            }
        });
        // The second turn has begun with "first", which is in no message yet.
        assert_eq!(handle.queued_len(QueueKind::Steering), 1);
        if cancels {
            drop(run.cancel());
        } else {
            drop(run);
        }
        assert_eq!(story(&handle.queued(QueueKind::Steering)), ["user: first", "user: second"]);
    }
}

#[test]
fn a_queued_message_is_delivered_with_all_its_blocks() {
    let blocks = vec![Content::text("look"), Content::image("aGk=", "image/png"), Content::text("")];
    let message = || UserMessage::new(UserContent::Blocks(blocks.clone()));
    let gates = Gates::new();
    let model = batch(&[("a", "read")]);
    let mut run =
        drive(Run::builder(model.clone()).tool(gated("read", &["a"], &gates)).build().prompt("go"), &gates);
    run.run_until_stalled();
    let handle = run.get_ref().handle();
    let _ = (handle.steer(message()), handle.follow_up(message()));
    let shown = handle.peek();
    run.run_in_order(["a"]);
    let users: Vec<_> =
        run.get_ref().state().transcript().iter().filter_map(AgentMessage::as_user).cloned().collect();
    assert_eq!([&users[1].content, &users[2].content], [&UserContent::Blocks(blocks.clone()); 2]);
    assert_eq!(shown[0].as_user().unwrap().content, UserContent::Blocks(blocks.clone()));
    // The request has them too, without the blank text.
    let request = &model.requests()[1];
    let turnstate::message::Message::User(steer) = request.messages.last().unwrap() else {
        panic!("{request:?}")
    };
    assert_eq!(steer.content, UserContent::Blocks(blocks[..2].to_vec()));
}

#[test]
fn a_follow_up_queued_at_the_very_end_is_reported_and_delivered_by_the_next_prompt() {
    let mut run = Run::builder(ScriptedModel::new(["one", "two", "three"])).build().prompt("go");
    let handle = run.handle();
    block_on(async {
        while let Some(event) = run.next().await {
            if event.kind() == "agent_end" {
                let _ = handle.follow_up("and then?");
            }
        }
    });
    assert!(handle.has_queued());
    let run = finish(block_on(run.finish()).prompt("on"));
    assert_eq!(
        story(&run.outcome().unwrap().added),
        ["user: on", "assistant: two", "user: and then?", "assistant: three"]
    );
}

#[test]
fn a_steer_skips_none_of_the_calls_that_were_asked_for() {
    let gates = Gates::new();
    let tool = gated("read", &["1", "2", "3"], &gates)
        .with_execution_mode(turnstate::tool::ExecutionMode::Sequential);
    let model = batch(&[("1", "read"), ("2", "read"), ("3", "read")]);
    let mut run = drive(Run::builder(model).tool(tool.clone()).build().prompt("go"), &gates);
    run.run_until_stalled();
    let _ = run.get_ref().handle().steer("stop that");
    run.run_in_order(["1", "2", "3"]);
    assert_eq!(tool.executions().len(), 3);
    assert_eq!(
        story(run.get_ref().state().transcript())[2..6],
        ["result 1: result of 1", "result 2: result of 2", "result 3: result of 3", "user: stop that"]
    );
}

#[test]
fn a_peek_shows_the_next_batch_and_a_take_leaves_nothing() {
    let run = Run::builder(ScriptedModel::new(["one"])).build();
    let handle = run.handle();
    let _ = (handle.follow_up("later"), handle.steer("now"), handle.steer("next"));
    for _ in 0..2 {
        assert_eq!(story(&handle.peek()), ["user: now"]);
    }
    let taken = handle.take();
    assert_eq!(
        (story(&taken.steering), story(&taken.follow_ups)),
        (vec!["user: now".to_owned(), "user: next".to_owned()], vec!["user: later".to_owned()])
    );
    assert!(!handle.has_queued() && handle.peek().is_empty());
    assert_eq!(story(finish(run.prompt("go")).transcript()), ["user: go", "assistant: one"]);
}

#[test]
fn of_a_batch_of_steers_that_is_cut_in_half_each_is_written_or_waits_in_order() {
    let all = ["user: first", "user: second", "user: third"];
    for cancels in [true, false] {
        for written_before in 1..=3 {
            let run = Run::builder(batch(&[("a", "read")])).tool(ScriptedTool::new("read")).build();
            let handle = run.handle();
            handle.set_queue_mode(QueueKind::Steering, turnstate::run::QueueMode::All);
            let mut run = run.prompt("go");
            let mut written = 0;
            block_on(async {
                while let Some(event) = run.next().await {
                    if event.kind() == "tool_execution_end" {
                        let _ = ["first", "second", "third"].map(|text| handle.steer(text));
                    }
                    let last = story(run.state().transcript()).pop().unwrap_or_default();
                    written += usize::from(event.kind() == "message_end" && all.contains(&last.as_str()));
                    if written == written_before {
                        break;
                    }
                }
            });
            run.abort();
            let run = if cancels { run.cancel() } else { block_on(run.finish()) };
            let mut told = story(run.transcript());
            told.retain(|line| all.contains(&line.as_str()));
            told.extend(story(&handle.queued(QueueKind::Steering)));
            assert_eq!(told, all, "cancelled: {cancels}, after {written_before}");
        }
    }
}

#[test]
fn a_follow_up_queued_at_the_end_of_the_last_turn_is_delivered_by_the_same_run() {
    let mut run = Run::builder(ScriptedModel::new(["one", "two"])).build().prompt("go");
    let (handle, mut turns) = (run.handle(), 0);
    block_on(async {
        while let Some(event) = run.next().await {
            turns += usize::from(event.kind() == "turn_end");
            if event.kind() == "turn_end" && turns == 1 {
                let _ = handle.follow_up("and then?");
            }
        }
    });
    assert_eq!(
        story(run.state().transcript()),
        ["user: go", "assistant: one", "user: and then?", "assistant: two"]
    );
}
