//! The shortest runs.

use futures::executor::block_on;
use futures::stream;
use turnstate::message::StopReason;
use turnstate::model::{Delta, Request};
use turnstate::tool::{NoArgs, tool_fn};
use turnstate::{Ending, Run};

fn text(text: &str) -> Vec<Delta> {
    vec![
        Delta::Start,
        Delta::TextStart { index: 0 },
        Delta::text(0, text),
        Delta::TextEnd { index: 0, signature: None },
        Delta::done(StopReason::Stop),
    ]
}

fn call(id: &str, name: &str) -> Vec<Delta> {
    vec![
        Delta::Start,
        Delta::tool_call_start(0, id, name),
        Delta::tool_call(0, "{}"),
        Delta::ToolCallEnd { index: 0, call: None },
        Delta::done(StopReason::ToolUse),
    ]
}

#[test]
fn a_text_answer_is_a_turn() {
    let run = Run::builder(|_: Request| stream::iter(text("Hello."))).system_prompt("Be terse.").build();
    let mut run = run.prompt("Hi");
    let kinds: Vec<_> = block_on(async {
        let mut kinds = Vec::new();
        while let Some(event) = run.next().await {
            kinds.push(event.kind());
        }
        kinds
    });
    assert_eq!(
        kinds,
        [
            "agent_start",
            "turn_start",
            "message_start",
            "message_end",
            "message_start",
            "message_update",
            "message_update",
            "message_update",
            "message_end",
            "turn_end",
            "agent_end"
        ]
    );
    let run = block_on(run.finish());
    assert_eq!(run.transcript().len(), 3);
    assert_eq!(run.outcome().unwrap().ending, Ending::Stopped { reason: StopReason::Stop });
}

#[test]
fn a_tool_is_called_and_its_result_goes_back() {
    let run = Run::builder(|request: Request| {
        let answered = request.messages.iter().any(|message| message.role() == "toolResult");
        stream::iter(if answered { text("It is noon.") } else { call("c1", "clock") })
    })
    .tool(tool_fn("clock", "Tells the time.", async |_: NoArgs, _| Ok("12:00")))
    .build();
    let run = block_on(run.prompt("What time is it?").finish());
    let roles: Vec<_> = run.transcript().iter().map(|message| message.role().to_owned()).collect();
    assert_eq!(roles, ["system", "user", "assistant", "toolResult", "assistant"]);
    let run = block_on(run.prompt("And now?").finish());
    assert_eq!(run.transcript().len(), 7);
}
