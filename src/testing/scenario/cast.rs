//! The model and the tools of a scenario, as its answers want them.

use serde_json::json;

use super::plan::CallNumbers;
use super::{
    AnswerPlan, ArgumentsPlan, BlockPlan, CallEndPlan, CallPlan, EndingPlan, Scenario, StepPlan, ToolPlan,
};
use crate::testing::{Gates, Response, ScriptedModel, ScriptedTool, ToolScript};
use crate::tool::ToolOutput;

/// The model and the tools of a scenario.
pub(super) struct Cast {
    pub(super) model: ScriptedModel,
    pub(super) tools: Vec<ScriptedTool>,
}

impl Cast {
    pub(super) fn of<M>(scenario: &Scenario<M>, gates: &Gates) -> Self {
        let scripts = vec![Vec::new(); scenario.tools.len()];
        let mut casting = Casting { scenario, gates, numbers: CallNumbers::default(), scripts };
        let answers = scenario.answers.iter().enumerate();
        let responses: Vec<_> = answers.map(|(number, answer)| casting.response(number, answer)).collect();
        let scripts = casting.scripts.into_iter();
        Self {
            model: ScriptedModel::new(responses).then_always("(nothing more)"),
            tools: scenario
                .tools
                .iter()
                .zip(scripts)
                .map(|(plan, scripts)| scripted(plan, scripts))
                .collect(),
        }
    }
}

/// What a tool does when the call of this id comes.
type CallScript = (String, ToolScript);

fn scripted(plan: &ToolPlan, scripts: Vec<CallScript>) -> ScriptedTool {
    let tool = ScriptedTool::new(&plan.name)
        .with_schema(plan.schema.clone())
        .with_execution_mode(plan.mode)
        .with_on_abort(plan.on_abort);
    scripts.into_iter().fold(tool, |tool, (id, script)| tool.on_call(id, script))
}

/// Goes through the answers in order, since calls are numbered through all of them.
struct Casting<'a, M> {
    scenario: &'a Scenario<M>,
    gates: &'a Gates,
    numbers: CallNumbers,
    /// What each tool does, by its place.
    scripts: Vec<Vec<CallScript>>,
}

impl<M> Casting<'_, M> {
    fn response(&mut self, number: usize, plan: &AnswerPlan) -> Response {
        let mut response = Response::new();
        for (at, block) in plan.blocks.iter().enumerate() {
            response = match block {
                BlockPlan::Text(text) => response.and_text(text),
                BlockPlan::Thinking(text) => response.and_thinking(text),
                BlockPlan::Delta(delta) => response.and_delta(delta.clone()),
                BlockPlan::Yield => response.and_yield(),
                BlockPlan::Wait => response.and_wait(&self.gates.gate(format!("model {number}.{at}"))),
                BlockPlan::Call(call) => self.and_call(response, call),
            };
        }
        ended(response, plan)
    }

    fn and_call(&mut self, response: Response, call: &CallPlan) -> Response {
        let id = format!("c{}", self.numbers.number(call));
        let Some((place, tool)) = call.tool.and_then(|place| self.scenario.tool_at(place)) else {
            return response.and_tool_call(id, "ghost", json!({}));
        };
        let script = self.script(&id, call);
        if let Some(scripts) = self.scripts.get_mut(place) {
            scripts.push((id.clone(), script));
        }
        match call.arguments {
            ArgumentsPlan::Fitting => response.and_tool_call(id, &tool.name, tool.fitting.clone()),
            ArgumentsPlan::Unfitting => response.and_tool_call(id, &tool.name, tool.unfitting.clone()),
            ArgumentsPlan::Unreadable => response.and_raw_tool_call(id, &tool.name, "{\"a\": tru"),
        }
    }

    fn script(&self, id: &str, call: &CallPlan) -> ToolScript {
        let mut script = ToolScript::new();
        for (at, step) in call.steps.iter().enumerate() {
            let gate = || self.gates.gate(format!("tool {id}.{at}"));
            script = match step {
                StepPlan::Update => script.update(format!("{id} is at {at}")),
                StepPlan::Wait => script.waits(&gate()),
                StepPlan::WaitOrAnswerAbort => {
                    script.waits_or_on_abort(&gate(), ToolScript::new().returns(format!("{id} gave up")))
                }
                StepPlan::Yield => script.yields(),
                StepPlan::Call(place) => match self.scenario.tool_at(*place) {
                    Some((_, tool)) => script.calls(&tool.name, tool.fitting.clone()),
                    None => script.calls("ghost", json!({})),
                },
            };
        }
        let done = format!("{id} is done");
        match call.end {
            CallEndPlan::Returns => script.returns(done),
            CallEndPlan::Terminates => script.returns(ToolOutput::text(done).terminating()),
            CallEndPlan::Fails => script.fails(format!("{id} failed")),
            CallEndPlan::Panics => script.panics(format!("{id} panicked")),
        }
    }
}

fn ended(response: Response, plan: &AnswerPlan) -> Response {
    let response = match &plan.ending {
        EndingPlan::Natural => response,
        EndingPlan::Done(reason) => response.stopping(*reason),
        EndingPlan::Failed => response.failing("the provider failed"),
        EndingPlan::Aborted => response.aborting("the provider aborted"),
        EndingPlan::Panicked => response.panicking("the stream panicked"),
        EndingPlan::Unterminated => response.unterminated(),
    };
    let response = if plan.started { response } else { response.without_start() };
    match plan.chunk {
        Some(characters) => response.in_chunks_of(characters),
        None => response,
    }
}
