//! How does one agent call another as a tool, so that an abort of the outer one stops both?
//!
//! ```text
//! cargo run --example agent_as_tool
//! ```

use serde_json::json;
use turnstate::message::StopReason;
use turnstate::testing::{Gate, Response, ScriptedModel, block_on};
use turnstate::tool::{AgentTool, ToolOutput, tool_fn};
use turnstate::{AgentEvent, Ending, Idle, Run};

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Research {
    /// What is to be found out.
    question: String,
}

/// A tool that is an agent: each call is a run of its own, in the future of the tool.
fn researcher(model: ScriptedModel) -> AgentTool {
    tool_fn("research", "Finds something out.", async move |args: Research, cx| {
        let idle = Run::builder(model).system_prompt("You find things out.").build();
        let mut run = idle.prompt(args.question);
        while let Some(event) = run.next().await {
            // What the inner agent says is the progress of the outer agent's call.
            if let Some(text) = event.text_delta() {
                cx.update(text);
            }
        }
        let run = run.finish().await;
        let outcome = run.outcome().ok_or("the research has not begun")?;
        if let Ending::Failed { message } = &outcome.ending {
            Err(format!("The research failed: {message}"))?;
        }
        // The outer run's budgets count what the inner one has used.
        Ok(ToolOutput::text(run.transcript().last_answer_text()).with_usage(outcome.usage))
    })
}

fn outer(inner: &ScriptedModel) -> Run<Idle> {
    let model = ScriptedModel::new([
        Response::tool_call("call_1", "research", json!({ "question": "How high is the Galdhøpiggen?" })),
        Response::text("The highest mountain of Norway has 2,469 metres."),
    ]);
    Run::builder(model).tool(researcher(inner.clone())).build()
}

fn main() {
    // The outer agent asks, the inner one answers.
    let inner = ScriptedModel::new([Response::text("2,469 metres.")]);
    let run = block_on(outer(&inner).prompt("How high is the highest mountain of Norway?").finish());
    println!("{}", run.transcript().last_answer_text());
    inner.assert_exhausted();

    // An abort drops the tool's future, and with it the inner run and its model's stream. Nothing has to be wired up.
    let gate = Gate::new("for ever");
    let inner = ScriptedModel::new([Response::text("I am looking").and_wait(&gate)]);
    let mut run = outer(&inner).prompt("How high is the highest mountain of Norway?");
    let run = block_on(async {
        while let Some(event) = run.next().await {
            if let AgentEvent::ToolExecutionUpdate { partial, .. } = event {
                println!("inner: {}", partial.texts().collect::<String>());
                run.abort();
            }
        }
        run.finish().await
    });
    assert_eq!(gate.waiting(), 0, "nobody waits for the inner model any more");
    let answer = run.transcript().last_answer();
    assert!(answer.is_some_and(|answer| answer.stop_reason == StopReason::Aborted));
    println!("Both are stopped.");
}
