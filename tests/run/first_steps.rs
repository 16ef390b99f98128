//! The shortest runs.

use futures::executor::block_on;
use futures::stream;
use turnstate::message::{StopReason, ToolResultMessage};
use turnstate::model::{Delta, Request};
use turnstate::tool::{NoArgs, tool_fn};
use turnstate::{AgentEvent, Ending, Run};

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

#[test]
fn a_tool_that_calls_itself_without_end_is_stopped_by_its_depth() {
    let run = Run::builder(|request: Request| {
        let answered = request.messages.iter().any(|message| message.role() == "toolResult");
        stream::iter(if answered { text("It went deep.") } else { call("c1", "deeper") })
    })
    .tool(tool_fn("deeper", "Calls itself.", async |_: NoArgs, cx| {
        Ok(cx.call_tool("deeper", serde_json::Map::new()).await)
    }))
    .build();
    let run = block_on(run.prompt("Go deep.").finish());
    let result = run.transcript().iter().find_map(|message| message.as_tool_result()).unwrap();
    let text: String = result.texts().collect();
    assert_eq!(text, "The call was not run: tools call tools at most 32 levels deep.");
    assert!(result.is_error);
}

#[test]
fn a_result_that_the_host_wrote_answers_no_call_of_a_run_that_is_cancelled() {
    let never = tool_fn("never", "Never ends.", async |_: NoArgs, _| {
        std::future::pending::<()>().await;
        Ok("")
    });
    let run = Run::builder(|_: Request| stream::iter(call("c1", "never"))).tool(never).build();
    let mut run = run.prompt(ToolResultMessage::new("other", "never", Vec::new()));
    while !matches!(block_on(run.next()), Some(AgentEvent::ToolExecutionStart { .. })) {}
    let run = run.cancel();
    let results: Vec<_> = run.transcript().iter().filter_map(|message| message.as_tool_result()).collect();
    let ids: Vec<_> = results.iter().map(|result| result.tool_call_id.as_str()).collect();
    assert_eq!(ids, ["other", "c1"]);
}
