//! A nested call: one that a tool makes itself.

use std::sync::{Arc, Mutex};

use serde_json::{Map, Value, json};
use turnstate::tool::{AgentTool, OnAbort, ToolContext, ToolOutput};

use super::{Verdict, compared};
use crate::play;
use crate::record::Scenario;
use crate::shape;

/// The tool that makes the call.
const OUTER: &str = "outer";

pub(super) fn run_tool_call(vector: &Value) -> Verdict {
    let scenario: Scenario = serde_json::from_value(vector["scenario"].clone()).unwrap();
    let aborted = scenario.aborted_at_start;
    let answer = Arc::new(Mutex::new(Value::Null));
    let outer = outer_tool(vector["call"].clone(), aborted, answer.clone());
    let id = vector["call"]["id"].as_str().unwrap();
    let executed = play::call_within(scenario, outer, id);
    let mut answer = answer.lock().unwrap().take();
    if let Some(arguments) = executed {
        answer["executedWith"] = arguments;
    }
    compared(&answer, vector)
}

fn outer_tool(call: Value, aborted: bool, answer: Arc<Mutex<Value>>) -> AgentTool {
    let body = async move |_: Map<String, Value>, cx: ToolContext<'_>| {
        if aborted {
            cx.abort().abort();
        }
        let updates = Mutex::new(Vec::new());
        let arguments = call["arguments"].as_object().cloned().unwrap_or_default();
        let output = cx
            .call_tool_with_updates(call["name"].as_str().unwrap(), arguments, |update: ToolOutput| {
                updates.lock().unwrap().push(shape::output(&update));
            })
            .await;
        let mut told = json!({"isError": output.is_error, "result": shape::output(&output)});
        let updates = updates.into_inner().unwrap();
        if !updates.is_empty() {
            told["updates"] = updates.into();
        }
        *answer.lock().unwrap() = told;
        Ok("done")
    };
    AgentTool::raw(OUTER, "Calls another tool.", json!({"type": "object"}), body)
        .unwrap()
        .with_on_abort(OnAbort::Wait)
}
