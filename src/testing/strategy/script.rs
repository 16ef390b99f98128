//! What models, tools and hooks do.

use proptest::collection::vec;
use proptest::option;
use proptest::prelude::*;
use proptest::sample::select;

use super::{assistant_message, schema, text};
use crate::message::{StopReason, Usage};
use crate::model::{Delta, Done, Metadata};
use crate::testing::scenario::{
    AfterPlan, AnswerPlan, ArgumentsPlan, BeforePlan, BlockPlan, CallEndPlan, CallPlan, EndingPlan,
    FinishPlan, HookPlan, NextTurnPlan, Planned, RequestPlan, StepPlan, ToolPlan,
};
use crate::tool::{ExecutionMode, OnAbort};

/// Every stop reason, `pending` too.
pub(super) fn stop_reason() -> impl Strategy<Value = StopReason> + Clone {
    use StopReason::{Aborted, Deferred, Error, Length, Pending, Stop, ToolUse};
    select(vec![Stop, ToolUse, Length, Error, Aborted, Deferred, Pending])
}

/// The stop reasons of usable answers.
fn usable_stop_reason() -> impl Strategy<Value = StopReason> + Clone {
    use StopReason::{Deferred, Length, Stop, ToolUse};
    select(vec![Stop, ToolUse, Length, Deferred])
}

/// Deltas of every kind, for few blocks, in no order: a stream of them is usually malformed.
pub fn any_delta() -> BoxedStrategy<Delta> {
    let index = 0..3_u32;
    let fragment = prop_oneof![
        text(),
        select(vec!["{", "}", "{\"a\":", "1", "\"x", "\\u00", "[", "null"]).prop_map(str::to_owned),
    ];
    prop_oneof![
        2 => Just(Delta::Start),
        3 => index.clone().prop_map(|index| Delta::TextStart { index }),
        3 => (index.clone(), text()).prop_map(|(index, text)| Delta::text(index, text)),
        1 => index.clone().prop_map(|index| Delta::TextEnd { index, signature: Some("s".into()) }),
        2 => index.clone().prop_map(|index| Delta::ThinkingStart { index }),
        2 => (index.clone(), text()).prop_map(|(index, text)| Delta::thinking(index, text)),
        1 => (index.clone(), any::<bool>())
            .prop_map(|(index, redacted)| Delta::ThinkingEnd { index, signature: None, redacted }),
        3 => (index.clone(), text()).prop_map(|(index, name)| Delta::tool_call_start(index, "d", name)),
        3 => (index.clone(), fragment).prop_map(|(index, text)| Delta::tool_call(index, text)),
        1 => index.prop_map(|index| Delta::ToolCallEnd { index, call: None }),
        1 => (0..9_u64).prop_map(|tokens| {
            let metadata = Metadata { usage: Some(Usage::new(tokens, 0)), ..Metadata::default() };
            Delta::Metadata(Box::new(metadata))
        }),
        1 => stop_reason().prop_map(|reason| Done::new(reason).into()),
        1 => text().prop_map(Delta::error),
        1 => assistant_message().prop_map(Delta::whole),
    ]
    .boxed()
}

/// Well-formed answers: text, thinking, calls of the scenario's tools, pauses, every usable ending.
pub fn answer() -> BoxedStrategy<AnswerPlan> {
    let ending = prop_oneof![
        8 => Just(EndingPlan::Natural),
        1 => usable_stop_reason().prop_map(EndingPlan::Done),
    ];
    answer_of(block(), ending.boxed())
}

/// Answers that end in failure: an error, an abort by the provider, a panic, no terminal delta, or a stop reason that
/// no usable answer has.
pub fn failing_answer() -> BoxedStrategy<AnswerPlan> {
    use StopReason::{Aborted, Error, Pending};
    let ending = prop_oneof![
        3 => Just(EndingPlan::Failed),
        1 => Just(EndingPlan::Aborted),
        1 => Just(EndingPlan::Panicked),
        1 => Just(EndingPlan::Unterminated),
        1 => select(vec![Pending, Error, Aborted]).prop_map(EndingPlan::Done),
    ];
    answer_of(block(), ending.boxed())
}

/// Answers with arbitrary deltas in them, usually malformed.
pub fn broken_answer() -> BoxedStrategy<AnswerPlan> {
    let block = prop_oneof![4 => any_delta().prop_map(BlockPlan::Delta), 1 => block()];
    let ending = prop_oneof![Just(EndingPlan::Unterminated), Just(EndingPlan::Natural)];
    answer_of(block.boxed(), ending.boxed())
}

fn answer_of(
    block: BoxedStrategy<BlockPlan>,
    ending: BoxedStrategy<EndingPlan>,
) -> BoxedStrategy<AnswerPlan> {
    let chunk = option::weighted(0.3, 1..4_usize);
    // Shrinking goes towards `false`: to the usual, which is an answer with a start.
    (vec(block, 0..5), ending, chunk, prop::bool::weighted(0.1))
        .prop_map(|(blocks, ending, chunk, hidden)| AnswerPlan { blocks, ending, chunk, started: !hidden })
        .boxed()
}

fn block() -> BoxedStrategy<BlockPlan> {
    prop_oneof![
        4 => call().prop_map(BlockPlan::Call),
        2 => text().prop_map(BlockPlan::Text),
        1 => text().prop_map(BlockPlan::Thinking),
        1 => Just(BlockPlan::Wait),
        1 => Just(BlockPlan::Yield),
    ]
    .boxed()
}

/// Calls of a scenario's tools, mostly with arguments that fit, and what the tools do.
fn call() -> BoxedStrategy<CallPlan> {
    let arguments = prop_oneof![
        8 => Just(ArgumentsPlan::Fitting),
        1 => Just(ArgumentsPlan::Unfitting),
        1 => Just(ArgumentsPlan::Unreadable),
    ];
    let step = prop_oneof![
        3 => Just(StepPlan::Wait),
        2 => Just(StepPlan::Update),
        1 => Just(StepPlan::WaitOrAnswerAbort),
        1 => Just(StepPlan::Yield),
        1 => (0..3_usize).prop_map(StepPlan::Call),
    ];
    let end = prop_oneof![
        5 => Just(CallEndPlan::Returns),
        2 => Just(CallEndPlan::Terminates),
        1 => Just(CallEndPlan::Fails),
        1 => Just(CallEndPlan::Panics),
    ];
    (option::weighted(0.9, 0..3_usize), arguments, prop::bool::weighted(0.1), vec(step, 0..4), end)
        .prop_map(|(tool, arguments, repeats_id, steps, end)| CallPlan {
            tool,
            arguments,
            repeats_id,
            steps,
            end,
        })
        .boxed()
}

/// A tool with any object as its arguments, or with a schema of its own.
pub(super) fn tool(name: impl Into<String>) -> BoxedStrategy<ToolPlan> {
    let plan = ToolPlan::new(name);
    let sequential = prop::bool::weighted(0.15);
    (option::weighted(0.2, schema()), sequential, prop::bool::weighted(0.2))
        .prop_map(move |(case, sequential, waits)| {
            let mut plan = plan.clone();
            if let Some(case) = case {
                plan.schema = case.schema;
                plan.fitting = case.fitting;
                plan.unfitting = case.unfitting;
            }
            if sequential {
                plan.mode = ExecutionMode::Sequential;
            }
            if waits {
                plan.on_abort = OnAbort::Wait;
            }
            plan
        })
        .boxed()
}

/// What hooks answer.
pub(super) fn hook_plan() -> BoxedStrategy<HookPlan> {
    let before = prop_oneof![
        4 => Just(BeforePlan::Allow),
        1 => Just(BeforePlan::Change),
        1 => Just(BeforePlan::Block),
        1 => Just(BeforePlan::BlockAndTerminate),
        1 => Just(BeforePlan::Answer),
        1 => Just(BeforePlan::Fail),
        1 => Just(BeforePlan::Panic),
    ];
    let after = prop_oneof![
        4 => Just(AfterPlan::Keep),
        1 => Just(AfterPlan::Replace),
        1 => Just(AfterPlan::Terminate),
        1 => Just(AfterPlan::Fail),
        1 => Just(AfterPlan::Panic),
    ];
    let finish = prop_oneof![
        6 => Just(FinishPlan::Default),
        3 => Just(FinishPlan::Continue),
        2 => Just(FinishPlan::End),
        1 => Just(FinishPlan::Panic),
    ];
    let next_turn = prop_oneof![
        4 => Just(NextTurnPlan::Keep),
        2 => Just(NextTurnPlan::PutIn),
        2 => (0..4_usize).prop_map(NextTurnPlan::Tools),
        1 => Just(NextTurnPlan::Panic),
    ];
    let request = prop_oneof![6 => Just(RequestPlan::Keep), 1 => Just(RequestPlan::Panic)];
    (planned(before), planned(after), planned(finish), planned(next_turn), planned(request))
        .prop_map(|(before, after, finish, next_turn, request)| HookPlan {
            before,
            after,
            finish,
            next_turn,
            request,
        })
        .boxed()
}

fn planned<A: std::fmt::Debug + Clone + 'static>(
    answer: impl Strategy<Value = A> + 'static,
) -> BoxedStrategy<Vec<Planned<A>>> {
    let planned = (prop::bool::weighted(0.3), answer).prop_map(|(waits, answer)| Planned { waits, answer });
    vec(planned, 0..3).boxed()
}
