//! Scenarios in few lines, for people.

use std::fmt::{self, Write as _};

use super::plan::CallNumbers;
use super::{
    Action, AnswerPlan, ArgumentsPlan, BlockPlan, CallEndPlan, CallPlan, EndingPlan, HookPlan, Planned,
    Scenario, ToolPlan,
};
use crate::message::CustomMessage;
use crate::run::QueueMode;
use crate::testing::trace::describe_message;
use crate::tool::{ExecutionMode, OnAbort};

impl<M: CustomMessage> fmt::Debug for Scenario<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        writeln!(f, "Scenario")?;
        for message in &self.history {
            writeln!(f, "  history  {}", describe_message(message))?;
        }
        for message in &self.prompt {
            writeln!(f, "  prompt   {}", describe_message(message))?;
        }
        for tool in &self.tools {
            write_tool(f, tool)?;
        }
        let mut numbers = CallNumbers::default();
        for answer in &self.answers {
            let mut line = String::new();
            self.write_answer(&mut line, answer, &mut numbers)?;
            writeln!(f, "  answer   {}", line.trim_end())?;
        }
        write_hooks(f, &self.hooks)?;
        let settings = [
            (self.tool_execution == ExecutionMode::Sequential, "one tool at a time"),
            (self.steering == QueueMode::All, "all steers at once"),
            (self.follow_ups == QueueMode::All, "all follow-ups at once"),
            (self.spawned, "tools are spawned"),
        ];
        for (_, setting) in settings.into_iter().filter(|(is_set, _)| *is_set) {
            writeln!(f, "  setting  {setting}")?;
        }
        for step in &self.host {
            writeln!(f, "  host     after {} moments: {}", step.after, step.action)?;
        }
        if self.order.iter().any(|pick| *pick != 0) {
            writeln!(f, "  order    {:?}", self.order)?;
        }
        Ok(())
    }
}

impl<M: CustomMessage> Scenario<M> {
    fn write_answer(&self, f: &mut String, answer: &AnswerPlan, numbers: &mut CallNumbers) -> fmt::Result {
        if !answer.started {
            f.write_str("(without start) ")?;
        }
        if let Some(characters) = answer.chunk {
            write!(f, "(in pieces of {characters}) ")?;
        }
        for block in &answer.blocks {
            match block {
                BlockPlan::Text(text) => write!(f, "{text:?} ")?,
                BlockPlan::Thinking(text) => write!(f, "thinking {text:?} ")?,
                BlockPlan::Delta(delta) => write!(f, "{delta:?} ")?,
                BlockPlan::Wait => f.write_str("wait ")?,
                BlockPlan::Yield => f.write_str("yield ")?,
                BlockPlan::Call(call) => self.write_call(f, call, numbers.number(call))?,
            }
        }
        match &answer.ending {
            EndingPlan::Natural => Ok(()),
            EndingPlan::Done(reason) => write!(f, "[{reason}]"),
            ending => write!(f, "[{ending:?}]"),
        }
    }

    fn write_call(&self, f: &mut String, call: &CallPlan, number: usize) -> fmt::Result {
        let tool = call.tool.and_then(|place| self.tool_at(place));
        write!(f, "{}#c{number}(", tool.map_or("ghost", |(_, tool)| &tool.name))?;
        match call.arguments {
            ArgumentsPlan::Fitting => {}
            ArgumentsPlan::Unfitting => f.write_str("unfitting arguments; ")?,
            ArgumentsPlan::Unreadable => f.write_str("unreadable arguments; ")?,
        }
        for step in &call.steps {
            write!(f, "{step:?}, ")?;
        }
        match call.end {
            CallEndPlan::Returns => f.write_str("returns) "),
            CallEndPlan::Terminates => f.write_str("terminates) "),
            CallEndPlan::Fails => f.write_str("fails) "),
            CallEndPlan::Panics => f.write_str("panics) "),
        }
    }
}

fn write_tool(f: &mut fmt::Formatter<'_>, tool: &ToolPlan) -> fmt::Result {
    write!(f, "  tool     {}", tool.name)?;
    if tool.mode == ExecutionMode::Sequential {
        f.write_str(", sequential")?;
    }
    if tool.on_abort == OnAbort::Wait {
        f.write_str(", waited for on abort")?;
    }
    if tool.schema != ToolPlan::new("").schema {
        write!(f, ", takes {}: {}, and not {}", tool.schema, tool.fitting, tool.unfitting)?;
    }
    writeln!(f)
}

fn write_hooks(f: &mut fmt::Formatter<'_>, plan: &HookPlan) -> fmt::Result {
    write_hook(f, "before_tool_call", &plan.before)?;
    write_hook(f, "after_tool_call", &plan.after)?;
    write_hook(f, "finish_turn", &plan.finish)?;
    write_hook(f, "prepare_next_turn", &plan.next_turn)?;
    write_hook(f, "prepare_request", &plan.request)
}

fn write_hook<A: fmt::Debug>(f: &mut fmt::Formatter<'_>, name: &str, plan: &[Planned<A>]) -> fmt::Result {
    if plan.is_empty() {
        return Ok(());
    }
    write!(f, "  hook     {name}:")?;
    for planned in plan {
        write!(f, " {}{:?}", if planned.waits { "wait+" } else { "" }, planned.answer)?;
    }
    writeln!(f)
}

impl<M: CustomMessage> fmt::Display for Action<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::Steer(message) => write!(f, "steer {}", describe_message(message)),
            Self::FollowUp(message) => write!(f, "follow up {}", describe_message(message)),
            Self::TakeBack(at) => write!(f, "take back {at}"),
            Self::Promote(at) => write!(f, "promote {at}"),
            Self::SetMode(kind, mode) => write!(f, "set {kind:?} to {mode:?}"),
            Self::Abort => f.write_str("abort"),
            Self::Cancel => f.write_str("cancel"),
            Self::Drop => f.write_str("drop"),
        }
    }
}
