//! The scripted hooks. One whose key is missing in the scenario is as if it were not installed.

use std::sync::Arc;

use serde::Deserialize;
use serde_json::{Map, Value, json};
use turnstate::Transcript;
use turnstate::hook::{
    AfterToolCall, BeforeToolCall, FinishTurn, FinishedTurn, Hook, HookContext, PrepareNextTurn,
    PrepareRequest,
};
use turnstate::message::{Content, CustomMessage, ThinkingLevel, ToolCall, Usage};
use turnstate::model::{ApiKey, Model, ModelError};
use turnstate::tool::{AgentTool, ToolOutput};
use turnstate::transcript::Messages;

use super::{model, throw, tools};
use crate::shape;
use crate::stage::Stage;

pub(crate) struct ScriptedHooks(pub(crate) Arc<Stage>);

/// What a hook does at one invocation.
#[derive(Deserialize, Default)]
#[serde(rename_all = "camelCase", deny_unknown_fields, default)]
struct Entry {
    wait: Option<String>,
    throw: Option<String>,
    set_args: Map<String, Value>,
    block: Option<bool>,
    reason: Option<String>,
    terminate: Option<bool>,
    content: Option<Vec<Content>>,
    details: Option<Value>,
    structured_content: Option<Value>,
    usage: Option<Usage>,
    is_error: Option<bool>,
    action: Option<String>,
    messages: Vec<Value>,
    model: Option<String>,
    thinking_level: Option<ThinkingLevel>,
    context: Option<Context>,
    keep_last: Option<usize>,
    append: Vec<Value>,
}

#[derive(Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct Context {
    messages: Option<Vec<Value>>,
    keep_last: Option<usize>,
    tools: Option<Vec<String>>,
}

impl ScriptedHooks {
    /// What the scenario says for this invocation, under its own key or that of its number; `None` if the hook is not
    /// installed.
    fn entry(&self, hook: &str, key: Option<&str>) -> Option<Value> {
        let entries = self.0.scenario.hooks.get(hook)?;
        let nth = self.0.invocation(hook).to_string();
        let entry = entries.get(key.unwrap_or(&nth)).or_else(|| entries.get("*"));
        Some(entry.cloned().unwrap_or(Value::Null))
    }

    fn note(&self, hook: &str, aborted: bool, mut fields: Value) {
        fields["hook"] = hook.into();
        if aborted {
            fields["aborted"] = true.into();
        }
        let fields = self.0.stamped(fields);
        self.0.log().trace.hooks.push(fields);
    }

    /// Notes the invocation, waits and throws as the scenario says, and gives the rest of it.
    async fn enter(&self, hook: &str, key: Option<&str>, aborted: bool, fields: Value) -> Option<Entry> {
        let json = self.entry(hook, key)?;
        self.note(hook, aborted, fields);
        let entry = if json.is_null() { Entry::default() } else { serde_json::from_value(json).unwrap() };
        if let Some(gate) = &entry.wait {
            self.0.gates.gate(gate).wait().await;
        }
        if let Some(text) = &entry.throw {
            throw(text);
        }
        Some(entry)
    }

    fn tools_of(&self, context: Option<&Context>) -> Option<Vec<AgentTool>> {
        context?.tools.as_ref().map(|keys| tools(&self.0, keys))
    }

    /// The messages that prepared messages are: the ledger has to know that they come from here.
    fn note_given(&self, messages: &[Value]) {
        self.0.log().ledger.given.extend(messages.iter().cloned());
    }
}

fn keep_last<M>(context: &mut Transcript<M>, count: usize) {
    let list = context.make_mut();
    list.drain(..list.len().saturating_sub(count));
}

fn changed_context<M: CustomMessage>(
    context: Option<&Context>,
    current: &Transcript<M>,
) -> Option<Transcript<M>> {
    let Context { messages, keep_last: count, .. } = context?;
    if messages.is_none() && count.is_none() {
        return None;
    }
    let mut changed = match messages {
        Some(messages) => shape::read_messages(messages).into(),
        None => current.clone(),
    };
    if let Some(count) = count {
        keep_last(&mut changed, *count);
    }
    Some(changed)
}

fn named_model(id: Option<&String>) -> Option<Arc<Model>> {
    id.map(|id| Arc::new(model(id)))
}

fn of_turn<M>(turn: &FinishedTurn, cx: HookContext<'_, M>) -> Value {
    let ids: Vec<_> = turn.tool_results.iter().map(|result| &result.tool_call_id).collect();
    json!({
        "stopReason": turn.message.stop_reason, "toolResults": ids,
        "newMessages": cx.added.len(), "contextMessages": cx.transcript.len(),
    })
}

impl<M: CustomMessage> Hook<M> for ScriptedHooks {
    async fn transform_context(&self, context: &mut Transcript<M>, cx: HookContext<'_, M>) {
        let fields = json!({"contextMessages": context.len()});
        let Some(entry) = self.enter("transformContext", None, cx.abort.is_aborted(), fields).await else {
            return;
        };
        entry.keep_last.into_iter().for_each(|count| keep_last(context, count));
        shape::read_messages(&entry.append).into_iter().for_each(|message| context.push(message));
    }

    async fn convert(&self, _: &mut Messages, _: HookContext<'_, M>) {
        if let Some(text) = self.entry("convertToLlm", None).as_ref().and_then(|json| json["throw"].as_str())
        {
            throw(text);
        }
    }

    async fn prepare_request(&self, cx: HookContext<'_, M>) -> PrepareRequest<M> {
        let fields = json!({
            "model": cx.model.id, "thinkingLevel": cx.thinking_level,
            "contextMessages": cx.transcript.len(),
        });
        let Some(entry) = self.enter("prepareRequest", None, cx.abort.is_aborted(), fields).await else {
            return PrepareRequest::unchanged();
        };
        let mut answer = PrepareRequest::unchanged();
        answer.model = named_model(entry.model.as_ref());
        answer.thinking_level = entry.thinking_level;
        answer.context = changed_context(entry.context.as_ref(), cx.transcript);
        answer.tools = self.tools_of(entry.context.as_ref());
        answer
    }

    async fn prepare_next_turn(&self, turn: &FinishedTurn, cx: HookContext<'_, M>) -> PrepareNextTurn<M> {
        let fields = of_turn(turn, cx);
        let Some(entry) = self.enter("prepareNextTurn", None, cx.abort.is_aborted(), fields).await else {
            return PrepareNextTurn::unchanged();
        };
        self.note_given(&entry.messages);
        let mut answer = PrepareNextTurn::unchanged();
        answer.messages = shape::read_messages(&entry.messages);
        answer.model = named_model(entry.model.as_ref());
        answer.thinking_level = entry.thinking_level;
        answer.context = changed_context(entry.context.as_ref(), cx.transcript);
        answer.tools = self.tools_of(entry.context.as_ref());
        answer
    }

    async fn before_tool_call(&self, call: &ToolCall, cx: HookContext<'_, M>) -> BeforeToolCall {
        let id = self.0.id_of(&call.id);
        let fields = json!({"call": id, "args": call.arguments, "contextMessages": cx.transcript.len()});
        let Some(entry) = self.enter("beforeToolCall", Some(id), cx.abort.is_aborted(), fields).await else {
            return BeforeToolCall::Allow;
        };
        if entry.block == Some(true) {
            return BeforeToolCall::Block {
                reason: entry.reason.unwrap_or_default(),
                terminate: entry.terminate.unwrap_or_default(),
            };
        }
        if entry.set_args.is_empty() {
            return BeforeToolCall::Allow;
        }
        let mut arguments = call.arguments.clone();
        arguments.extend(entry.set_args);
        BeforeToolCall::AllowWith(arguments)
    }

    async fn after_tool_call(
        &self,
        call: &ToolCall,
        output: &ToolOutput,
        cx: HookContext<'_, M>,
    ) -> AfterToolCall {
        let id = self.0.id_of(&call.id);
        let fields = json!({
            "call": id, "args": call.arguments, "isError": output.is_error, "result": shape::output(output),
        });
        let Some(entry) = self.enter("afterToolCall", Some(id), cx.abort.is_aborted(), fields).await else {
            return AfterToolCall::unchanged();
        };
        let mut answer = AfterToolCall::unchanged();
        answer.content = entry.content;
        answer.details = entry.details;
        answer.structured_content = entry.structured_content;
        answer.usage = entry.usage;
        answer.is_error = entry.is_error;
        answer.terminate = entry.terminate;
        answer
    }

    async fn finish_turn(&self, turn: &FinishedTurn, cx: HookContext<'_, M>) -> FinishTurn {
        let fields = of_turn(turn, cx);
        let Some(entry) = self.enter("finishTurn", None, cx.abort.is_aborted(), fields).await else {
            return FinishTurn::Default;
        };
        match entry.action.as_deref() {
            None => FinishTurn::Default,
            Some("continue") => FinishTurn::Continue,
            Some("end") => FinishTurn::End { reason: None },
            Some(other) => panic!("no action: {other}"),
        }
    }

    async fn api_key(&self, provider: &str, cx: HookContext<'_, M>) -> Result<Option<ApiKey>, ModelError> {
        let Some(json) = self.entry("getApiKey", None) else { return Ok(None) };
        self.note("getApiKey", cx.abort.is_aborted(), json!({"provider": provider}));
        if let Some(text) = json["throw"].as_str() {
            throw(text);
        }
        Ok(json.as_str().map(ApiKey::from))
    }
}
