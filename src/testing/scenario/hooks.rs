//! Hooks that answer by a scenario's plan.

use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex, PoisonError};

use serde_json::{Value, json};

use super::{AfterPlan, BeforePlan, FinishPlan, HookPlan, NextTurnPlan, Planned, RequestPlan};
use crate::hook::{
    AfterToolCall, BeforeToolCall, FinishTurn, FinishedTurn, Hook, HookContext, PrepareNextTurn,
    PrepareRequest,
};
use crate::message::{AgentMessage, Content, CustomMessage, ToolCall};
use crate::testing::Gates;
use crate::testing::gate::quiet_panic;
use crate::tool::{AgentTool, ToolOutput};
use crate::transcript::Messages;

/// The names of the tools that could be executed at each request.
#[derive(Debug, Clone, Default)]
pub(super) struct ToolLog(Arc<Mutex<Vec<Vec<String>>>>);

impl ToolLog {
    fn push(&self, tools: &[AgentTool]) {
        let names = tools.iter().map(|tool| tool.name().to_owned()).collect();
        self.0.lock().unwrap_or_else(PoisonError::into_inner).push(names);
    }

    pub(super) fn take(&self) -> Vec<Vec<String>> {
        std::mem::take(&mut self.0.lock().unwrap_or_else(PoisonError::into_inner))
    }
}

pub(super) struct PlannedHooks {
    plan: HookPlan,
    gates: Gates,
    tools: Vec<AgentTool>,
    log: ToolLog,
    calls: Calls,
}

/// How often each hook was called.
#[derive(Default)]
struct Calls {
    before: AtomicUsize,
    after: AtomicUsize,
    finish: AtomicUsize,
    next_turn: AtomicUsize,
    request: AtomicUsize,
}

impl PlannedHooks {
    pub(super) fn new(plan: &HookPlan, gates: &Gates, tools: Vec<AgentTool>, log: &ToolLog) -> Self {
        Self { plan: plan.clone(), gates: gates.clone(), tools, log: log.clone(), calls: Calls::default() }
    }

    /// The plan's next answer, after the wait that comes before it.
    async fn next<A: Copy + Default>(&self, name: &str, plan: &[Planned<A>], calls: &AtomicUsize) -> A {
        let number = calls.fetch_add(1, Ordering::Relaxed);
        let Some(planned) = plan.get(number) else { return A::default() };
        if planned.waits {
            self.gates.gate(format!("{name} {number}")).wait().await;
        }
        planned.answer
    }
}

fn panic_of(hook: &str) -> ! {
    quiet_panic(format!("{hook} panicked"))
}

impl<M: CustomMessage> Hook<M> for PlannedHooks {
    /// Called last before each request: notes the tools of the moment.
    async fn convert(&self, _: &mut Messages, cx: HookContext<'_, M>) {
        self.log.push(cx.tools);
    }

    async fn prepare_request(&self, _: HookContext<'_, M>) -> PrepareRequest<M> {
        match self.next("prepare_request", &self.plan.request, &self.calls.request).await {
            RequestPlan::Keep => PrepareRequest::unchanged(),
            RequestPlan::Panic => panic_of("prepare_request"),
        }
    }

    async fn prepare_next_turn(&self, _: &FinishedTurn, _: HookContext<'_, M>) -> PrepareNextTurn<M> {
        match self.next("prepare_next_turn", &self.plan.next_turn, &self.calls.next_turn).await {
            NextTurnPlan::Keep => PrepareNextTurn::unchanged(),
            NextTurnPlan::PutIn => PrepareNextTurn::unchanged().with_message(AgentMessage::user("prepared")),
            NextTurnPlan::Tools(left) => {
                let left = left % (self.tools.len() + 1);
                PrepareNextTurn::unchanged().with_tools(self.tools.iter().take(left).cloned().collect())
            }
            NextTurnPlan::Panic => panic_of("prepare_next_turn"),
        }
    }

    async fn before_tool_call(&self, call: &ToolCall, _: HookContext<'_, M>) -> BeforeToolCall {
        match self.next("before_tool_call", &self.plan.before, &self.calls.before).await {
            BeforePlan::Allow => BeforeToolCall::Allow,
            BeforePlan::Change => {
                let mut arguments = call.arguments.clone();
                arguments.insert("changed".to_owned(), json!(true));
                BeforeToolCall::AllowWith(arguments)
            }
            BeforePlan::Block => BeforeToolCall::block("blocked"),
            BeforePlan::BlockAndTerminate => {
                BeforeToolCall::Block { reason: "blocked".to_owned(), terminate: true }
            }
            BeforePlan::Answer => BeforeToolCall::Answer(Value::from("answered").into()),
            BeforePlan::Fail => BeforeToolCall::fail("before_tool_call failed"),
            BeforePlan::Panic => panic_of("before_tool_call"),
        }
    }

    async fn after_tool_call(&self, _: &ToolCall, _: &ToolOutput, _: HookContext<'_, M>) -> AfterToolCall {
        match self.next("after_tool_call", &self.plan.after, &self.calls.after).await {
            AfterPlan::Keep => AfterToolCall::unchanged(),
            AfterPlan::Replace => AfterToolCall::content(vec![Content::text("replaced")]),
            AfterPlan::Terminate => AfterToolCall::unchanged().with_terminate(true),
            AfterPlan::Fail => AfterToolCall::fail("after_tool_call failed"),
            AfterPlan::Panic => panic_of("after_tool_call"),
        }
    }

    async fn finish_turn(&self, _: &FinishedTurn, _: HookContext<'_, M>) -> FinishTurn {
        match self.next("finish_turn", &self.plan.finish, &self.calls.finish).await {
            FinishPlan::Default => FinishTurn::Default,
            FinishPlan::Continue => FinishTurn::Continue,
            FinishPlan::End => FinishTurn::end("the plan says so"),
            FinishPlan::Panic => panic_of("finish_turn"),
        }
    }
}
