//! Runs in one line, and what is seen of them as short lines of text.

use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use turnstate::message::{
    AgentMessage, AssistantContent, AssistantMessage, Content, CustomMessage, StopReason, ToolCall,
    ToolResultMessage,
};
use turnstate::model::Request;
use turnstate::testing::{
    Checkable, Checked, Driven, Gates, Response, ScriptedModel, ScriptedTool, ToolScript, block_on,
};
use turnstate::tool::{AgentTool, IntoTool};
use turnstate::{AgentEvent, Idle, Run, Streaming};

/// A run that is driven by hand, every event checked.
pub(crate) type Driving = Driven<Checked<Run<Streaming>>>;

pub(crate) fn drive(run: Run<Streaming>, gates: &Gates) -> Driving {
    Driven::new(run.checked()).with_gates(gates)
}

/// The run at its end, every event checked.
#[track_caller]
pub(crate) fn finish<M: CustomMessage>(run: Run<Streaming, M>) -> Run<Idle, M> {
    block_on(run.checked().finish())
}

/// The idle run of one that was driven to its end.
#[track_caller]
pub(crate) fn idle(run: Driving) -> Run<Idle> {
    block_on(run.into_inner().finish())
}

/// The run at its end, and its events.
#[track_caller]
pub(crate) fn told<M: CustomMessage>(run: Run<Streaming, M>) -> (Run<Idle, M>, Vec<AgentEvent<M>>) {
    let mut run = run.checked();
    let mut events = Vec::new();
    block_on(async {
        while let Some(event) = run.next().await {
            events.push(event);
        }
        (run.finish().await, events)
    })
}

/// A model that makes one batch of calls without arguments (id, tool), and then says `done`.
pub(crate) fn batch(calls: &[(&str, &str)]) -> ScriptedModel {
    ScriptedModel::new([calls_of(calls)]).then_always("done")
}

pub(crate) fn calls_of(calls: &[(&str, &str)]) -> Response {
    calls.iter().fold(Response::new(), |answer, (id, tool)| answer.and_tool_call(*id, *tool, json!({})))
}

/// A tool whose every call waits on the gate of its id, and returns its id's result.
pub(crate) fn gated(name: &str, ids: &[&str], gates: &Gates) -> ScriptedTool {
    ids.iter().fold(ScriptedTool::new(name), |tool, id| {
        tool.on_call(*id, ToolScript::new().waits(&gates.gate(id)).returns(format!("result of {id}")))
    })
}

/// The messages but the host's declarations, one line each.
pub(crate) fn story<M: CustomMessage>(messages: &[AgentMessage<M>]) -> Vec<String> {
    messages.iter().filter_map(line).collect()
}

/// The messages of a request, as [`story`] tells them.
pub(crate) fn sent(request: &Request) -> Vec<String> {
    request
        .messages
        .iter()
        .filter_map(|message| line::<turnstate::message::NoCustom>(&message.clone().into()))
        .collect()
}

fn line<M: CustomMessage>(message: &AgentMessage<M>) -> Option<String> {
    Some(match message {
        AgentMessage::System(system) if system.content.is_empty() => return None,
        AgentMessage::System(system) => format!("system: {}", system.content.joined()),
        AgentMessage::User(user) => format!("user: {}", user.content.texts().collect::<Vec<_>>().join(" | ")),
        AgentMessage::Assistant(answer) => answer_line(answer),
        AgentMessage::ToolResult(result) => {
            let kind = if result.is_error { "error" } else { "result" };
            format!("{kind} {}: {}", result.tool_call_id, result.texts().collect::<Vec<_>>().join(" | "))
        }
        AgentMessage::Custom(custom) => custom.role().to_owned(),
    })
}

fn answer_line(answer: &AssistantMessage) -> String {
    let kind = match answer.stop_reason {
        StopReason::Error => "failed",
        StopReason::Aborted => "aborted",
        _ => "assistant",
    };
    let blocks = answer.content.iter().map(|block| match block {
        AssistantContent::Text(text) => text.text.clone(),
        AssistantContent::Thinking(thinking) => format!("({})", thinking.thinking),
        AssistantContent::ToolCall(call) => format!("[{} {}]", call.id, call.name),
        _ => String::new(),
    });
    format!("{kind}: {}", blocks.chain(answer.error_message.clone()).collect::<Vec<_>>().join(" | "))
}

/// The events in short: the kind, with the id of a call, or the role of a message that ends.
pub(crate) fn steps<M: CustomMessage>(events: &[AgentEvent<M>]) -> Vec<String> {
    let step = |event: &AgentEvent<M>| match event {
        AgentEvent::ToolExecutionStart { call } => format!("start {}", call.id),
        AgentEvent::ToolExecutionUpdate { call, .. } => format!("update {}", call.id),
        AgentEvent::ToolExecutionEnd { call, .. } => format!("end {}", call.id),
        AgentEvent::MessageEnd { message } => match message {
            AgentMessage::ToolResult(result) => format!("result {}", result.tool_call_id),
            other => other.role().to_owned(),
        },
        other => other.kind().to_owned(),
    };
    events
        .iter()
        .filter(|event| !matches!(event.kind(), "message_start" | "message_update"))
        .map(step)
        .collect()
}

/// How often a kind of event came.
pub(crate) fn count<M: CustomMessage>(events: &[AgentEvent<M>], kind: &str) -> usize {
    events.iter().filter(|event| event.kind() == kind).count()
}

/// What a tool was executed with, or what the model was told instead, when it makes this call.
pub(crate) fn called_with(tool: impl IntoTool, answer: Response) -> Result<Value, String> {
    let seen: Arc<Mutex<Option<Value>>> = Arc::default();
    let log = seen.clone();
    let tool: AgentTool = tool.into_tool().around(async move |arguments, cx, next| {
        *log.lock().unwrap() = Some(Value::Object(arguments.clone()));
        next.run(arguments, cx).await
    });
    let model = ScriptedModel::new([answer]).then_always("done");
    let run = finish(Run::builder(model.clone()).tool(tool).build().prompt("go"));
    let result = run.transcript().iter().find_map(AgentMessage::as_tool_result).expect("a result").clone();
    assert_eq!(model.requests().len(), 2, "the loop goes on");
    let text = result.texts().collect::<Vec<_>>().join(" | ");
    let arguments = seen.lock().unwrap().take();
    match arguments {
        Some(arguments) if !result.is_error => Ok(arguments),
        _ => Err(text),
    }
}

/// [`called_with`] for arguments that stream as this text, in pieces of seven characters.
pub(crate) fn streamed(text: &str) -> Result<Value, String> {
    let call = Response::new().and_raw_tool_call("c", "t", text).in_chunks_of(7);
    called_with(ScriptedTool::new("t"), call)
}

/// [`called_with`] for a schema and the arguments, told without the first line of an error.
pub(crate) fn checked_by(schema: Value, arguments: Value) -> Result<Value, String> {
    let tool = ScriptedTool::new("t").with_schema(schema);
    called_with(tool, Response::tool_call("c", "t", arguments))
        .map_err(|text| text.replace("invalid arguments for the tool `t`:\n", ""))
}

pub(crate) fn call(id: &str, name: &str) -> ToolCall {
    ToolCall::new(id, name, Map::new())
}

pub(crate) fn result(id: &str, text: &str) -> AgentMessage {
    ToolResultMessage::new(id, "read", vec![Content::text(text)]).into()
}

/// A stored answer that calls `read` under these ids.
pub(crate) fn stored_calls(ids: &[&str]) -> AgentMessage {
    let content = ids.iter().map(|id| call(id, "read").into()).collect();
    AssistantMessage::new(content).with_stop_reason(StopReason::ToolUse).into()
}
