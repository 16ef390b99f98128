//! The scripted tools. All are waited for on abort, as the reference does with every tool.

use std::future::poll_fn;
use std::sync::Arc;
use std::task::Poll;

use futures::FutureExt;
use serde_json::{Map, Value};
use turnstate::tool::{AgentTool, ExecutionMode, OnAbort, ToolContext, ToolError, ToolOutput};

use crate::record::{Prepare, ToolDef, ToolStep};
use crate::shape;
use crate::stage::Stage;

/// The tools of these keys.
pub(crate) fn tools(stage: &Arc<Stage>, keys: &[String]) -> Vec<AgentTool> {
    keys.iter().map(|key| tool(stage, &stage.scenario.tool_defs[key])).collect()
}

fn tool(stage: &Arc<Stage>, def: &ToolDef) -> AgentTool {
    let stage = stage.clone();
    let body = async move |args: Map<String, Value>, cx: ToolContext<'_>| execute(&stage, args, cx).await;
    let tool = AgentTool::raw::<ToolOutput, _>(&def.name, &def.description, def.parameters.clone(), body)
        .unwrap_or_else(|error| panic!("{}: {error}", def.name))
        .with_on_abort(OnAbort::Wait)
        .with_execution_mode(execution_mode(def.execution_mode.as_deref()));
    match def.prepare.clone() {
        Some(script) => tool.with_argument_preparation(move |args| prepare(&script, args)),
        None => tool,
    }
}

pub(crate) fn execution_mode(mode: Option<&str>) -> ExecutionMode {
    match mode {
        Some("sequential") => ExecutionMode::Sequential,
        Some("parallel") | None => ExecutionMode::Parallel,
        Some(other) => panic!("no execution mode: {other}"),
    }
}

/// What a tool's own preparation makes of the raw arguments.
pub(crate) fn prepare(
    script: &Prepare,
    mut args: Map<String, Value>,
) -> Result<Map<String, Value>, ToolError> {
    if let Some(text) = &script.throw {
        return Err(text.as_str().into());
    }
    for (from, to) in &script.rename {
        if let Some(value) = args.remove(from) {
            args.insert(to.clone(), value);
        }
    }
    for (key, value) in &script.default {
        args.entry(key).or_insert_with(|| value.clone());
    }
    Ok(args)
}

async fn execute(
    stage: &Stage,
    args: Map<String, Value>,
    cx: ToolContext<'_>,
) -> Result<ToolOutput, ToolError> {
    let id = stage.id_of(&cx.call().id);
    stage.log().trace.executions.insert(id.to_owned(), Value::Object(args));
    stage.open_mailbox(id);
    let output = perform(stage, id, cx).await;
    stage.close_mailbox(id);
    output
}

async fn perform(stage: &Stage, id: &str, cx: ToolContext<'_>) -> Result<ToolOutput, ToolError> {
    let mut steps = stage.scenario.calls.get(id).map_or(&[][..], Vec::as_slice);
    while let Some((step, rest)) = steps.split_first() {
        steps = rest;
        if let Some(update) = &step.update {
            cx.update(shape::read_output(update));
        } else if let Some(gate) = &step.wait {
            if let (Waited::Aborted, Some(instead)) = (wait(stage, id, cx, gate, step).await, &step.on_abort)
            {
                steps = instead;
            }
        } else if let Some(output) = &step.returns {
            return Ok(shape::read_output(output));
        } else if let Some(text) = &step.throw {
            return Err(text.as_str().into());
        }
    }
    Ok(ToolOutput::text(format!("ok {id}")))
}

enum Waited {
    Released,
    Aborted,
}

/// Waits for a gate, and for the abort if the step says so. Updates from outside are passed on meanwhile.
async fn wait(stage: &Stage, id: &str, cx: ToolContext<'_>, gate: &str, step: &ToolStep) -> Waited {
    let mut aborted = step.on_abort.is_some().then(|| cx.abort().aborted());
    let mut released = stage.gates.gate(gate).wait();
    poll_fn(|task| {
        for update in stage.take_updates(id, task.waker()) {
            cx.update(update);
        }
        if let Some(Poll::Ready(())) = aborted.as_mut().map(|aborted| aborted.poll_unpin(task)) {
            return Poll::Ready(Waited::Aborted);
        }
        released.poll_unpin(task).map(|()| Waited::Released)
    })
    .await
}
