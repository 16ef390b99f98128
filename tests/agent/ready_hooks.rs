//! The ready-made hooks.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};

use futures::executor::block_on;
use serde_json::Map;
use turnstate::hook::{
    Approval, BeforeToolCall, CostBudget, Decision, FinishTurn, PrepareNextTurn, RepeatedCalls, TokenBudget,
    ToolCallLimit, ToolFilter, TurnLimit,
};
use turnstate::message::{AgentMessage, AssistantMessage, StopReason, ToolCall, ToolResultMessage, Usage};
use turnstate::testing::Response;
use turnstate::tool::{ExecutionMode, NoArgs, ToolOutput, tool_fn};
use turnstate::{Agent, Ending, Hook, Run, RunBuilder};

use crate::support::*;

fn ended(reason: &str) -> Ending {
    Ending::EndedByHook { reason: Some(reason.to_owned()) }
}

fn stopped() -> Ending {
    Ending::Stopped { reason: StopReason::Stop }
}

/// A run with one hook and a tool `read`.
fn with(hook: impl Hook<turnstate::message::NoCustom>, answers: Vec<Response>) -> Agent {
    Agent::new(builder(answers).hook(hook).build())
}

fn builder(answers: Vec<Response>) -> RunBuilder {
    Run::builder(model(answers)).tool(quick("read"))
}

fn reads(count: usize) -> Vec<Response> {
    (0..count).map(|n| call(&format!("c{n}"), "read")).collect()
}

/// An answer that used and cost something.
fn spends(id: &str, usage: Usage) -> Response {
    call(id, "read").with_usage(usage)
}

fn usage(tokens: u64, cost: f64) -> Usage {
    let mut usage = Usage::new(tokens, 0);
    usage.cost.total = cost;
    usage
}

#[test]
fn a_turn_limit_ends_the_run_that_would_go_on_and_counts_each_run_anew() {
    let agent = with(TurnLimit::new(2), reads(5));
    for prompt in ["one", "two"] {
        let outcome = block_on(agent.prompt(prompt).unwrap());
        assert_eq!(outcome.ending, ended("the turn limit of 2 is reached"));
        assert!(outcome.is_success());
        let lines = texts(&outcome.added);
        let lines: Vec<_> = lines.iter().filter(|line| !line.starts_with("system")).collect();
        assert_eq!(lines.len(), 5, "{lines:?}");
        assert_eq!(*lines[4], "result: read done");
    }
}

#[test]
fn a_limit_that_the_last_turn_reaches_changes_nothing() {
    let mut answers = reads(1);
    answers.push(text("done"));
    type Make = fn(Vec<Response>) -> Agent;
    let hooks: [Make; 3] = [
        |answers| with(TurnLimit::new(2), answers),
        |answers| with(ToolCallLimit::new(1), answers),
        |answers| with(TokenBudget::new(0), answers[1..].to_vec()),
    ];
    for agent in hooks {
        let outcome = block_on(agent(answers.clone()).prompt("go").unwrap());
        assert_eq!(outcome.ending, stopped());
    }
}

#[test]
fn a_queued_message_makes_the_run_go_on_so_a_reached_limit_ends_it() {
    let agent = with(TurnLimit::new(1), vec![text("one"), text("two")]);
    let ticket = agent.follow_up("more");
    let outcome = block_on(agent.prompt("go").unwrap());
    assert_eq!(outcome.ending, ended("the turn limit of 1 is reached"));
    assert!(ticket.is_waiting());
}

#[test]
fn a_hook_that_always_continues_is_ended_one_turn_after_any_limit() {
    fn endless(hook: impl Hook<turnstate::message::NoCustom>) -> Run<turnstate::Idle> {
        builder(vec![text("again"); 9]).hook(hook).finish_turn(async |_, _| FinishTurn::Continue).build()
    }
    let runs = [
        (endless(TurnLimit::new(3)), 4, "the turn limit of 3 is reached"),
        (endless(TokenBudget::new(0)), 2, "the budget of 0 tokens is used up: 0 were used"),
        (endless(CostBudget::new(f64::NAN)), 2, "the budget of NaN is used up: the run has cost 0.0000"),
    ];
    for (run, turns, reason) in runs {
        let run = block_on(run.prompt("go").finish());
        assert_eq!(run.outcome().unwrap().ending, ended(reason));
        assert_eq!(run.outcome().unwrap().added.len(), 1 + turns);
    }
}

#[test]
fn a_tool_call_limit_that_was_passed_without_going_on_ends_a_run_that_goes_on_all_the_same() {
    let run = builder(vec![call("a", "read"), text("one"), text("never")])
        .before_tool_call(async |_, _| BeforeToolCall::Answer(ToolOutput::text("kept").terminating()))
        .hook(ToolCallLimit::new(0))
        .finish_turn(async |_, _| FinishTurn::Continue)
        .build();
    let run = block_on(run.prompt("go").finish());
    assert_eq!(run.outcome().unwrap().ending, ended("the tool call limit of 0 is used up"));
    assert_eq!(texts(&run.outcome().unwrap().added)[2..], ["result: kept", "assistant: one"]);
}

/// An example of a conversation, as hosts put it before a question: a call that used much, and its result.
fn example() -> Vec<AgentMessage> {
    let mut answer = AssistantMessage::new(vec![ToolCall::new("e", "read", Map::new()).into()]);
    answer.usage = usage(1000, 1.0);
    let mut result = ToolResultMessage::new("e", "read", vec!["read done".into()]);
    result.usage = Some(usage(1000, 1.0));
    vec![answer.into(), result.into(), AgentMessage::user("And now?")]
}

#[test]
fn answers_that_the_host_puts_in_count_for_no_limit() {
    fn limited(hook: impl Hook<turnstate::message::NoCustom>) -> Run<turnstate::Idle> {
        let usage = usage(1, 0.5);
        builder(vec![spends("a", usage), spends("b", usage), text("never")])
            .hook(hook)
            .prepare_next_turn(async |_, _| {
                let mut prepared = PrepareNextTurn::unchanged();
                prepared.messages = example();
                prepared
            })
            .build()
    }
    let runs = [
        (limited(TurnLimit::new(2)), "the turn limit of 2 is reached"),
        (limited(ToolCallLimit::new(1)), "the tool call limit of 1 is used up"),
        (limited(TokenBudget::new(2)), "the budget of 2 tokens is used up: 2 were used"),
        (limited(CostBudget::new(1.0)), "the budget of 1.0000 is used up: the run has cost 1.0000"),
    ];
    for (run, reason) in runs {
        let run = block_on(run.prompt(example()).finish());
        assert_eq!(run.outcome().unwrap().ending, ended(reason));
        let answers =
            run.outcome().unwrap().added.iter().filter(|message| message.role() == "assistant").count();
        assert_eq!(answers, 4, "two of the model's and two of the host's: {reason}");
    }
}

#[test]
fn a_hook_is_told_which_answers_are_the_models() {
    let log = Log::new();
    let seen = log.clone();
    let run = builder(vec![call("a", "read"), text("done")])
        .before_tool_call({
            let log = log.clone();
            async move |_, cx| {
                log.note(format!("call {}", cx.answers.len()));
                BeforeToolCall::Allow
            }
        })
        .finish_turn(async move |turn, cx| {
            assert!(Arc::ptr_eq(cx.answers.last().unwrap(), &turn.message));
            seen.note(format!("turn {}", cx.answers.len()));
            FinishTurn::Default
        })
        .build();
    let _ = block_on(run.prompt(example()).finish());
    assert_eq!(log.take(), ["call 1", "turn 1", "turn 2"]);
}

#[test]
fn no_call_beyond_the_limit_is_executed_whatever_the_batch() {
    let batch = || calls(&[("a", "count", "{}"), ("b", "count", "{}"), ("c", "count", "{}")]);
    let twice = || calls(&[("a", "count", "{}"), ("a", "count", "{}"), ("a", "count", "{}")]);
    let refused = "result: The call was not run: the tool call limit of 4 is used up.";
    for mode in [ExecutionMode::Parallel, ExecutionMode::Sequential] {
        let run = |answers| {
            let executed = Arc::new(AtomicUsize::new(0));
            let count = executed.clone();
            let tool = tool_fn("count", "Counts.", async move |_: NoArgs, _| {
                count.fetch_add(1, Ordering::SeqCst);
                Ok("counted")
            });
            let run = builder(answers).tool(tool).tool_execution(mode).hook(ToolCallLimit::new(4)).build();
            let run = block_on(run.prompt("go").finish());
            (executed.load(Ordering::SeqCst), run.outcome().unwrap().clone())
        };
        let (executed, outcome) = run(vec![batch(), batch(), text("never")]);
        assert_eq!(executed, 4);
        assert_eq!(outcome.ending, ended("the tool call limit of 4 is used up"));
        assert_eq!(texts(&outcome.added)[6..], ["result: counted", refused, refused]);
        // One id for all: never more, perhaps fewer.
        let (executed, outcome) = run(vec![batch(), twice(), text("never")]);
        assert_eq!(executed, 3);
        assert_eq!(outcome.ending, ended("the tool call limit of 4 is used up"));
    }
}

#[test]
fn calls_that_a_tool_makes_itself_do_not_count_as_calls_of_the_model() {
    let outer = tool_fn("outer", "Calls others.", async |_: NoArgs, cx| {
        for _ in 0..5 {
            assert!(!cx.call_tool("read", Map::new()).await.is_error);
        }
        Ok("called")
    });
    let run = builder(vec![call("o", "outer"), text("done")]).tool(outer).hook(ToolCallLimit::new(1)).build();
    let run = block_on(run.prompt("go").finish());
    assert_eq!(run.outcome().unwrap().ending, stopped());
}

#[test]
fn budgets_count_what_answers_and_tools_used() {
    let dear = tool_fn("dear", "Uses tokens by itself.", async |_: NoArgs, _| {
        Ok(ToolOutput::text("dear").with_usage(usage(500, 0.25)))
    });
    let answers =
        || vec![spends("a", usage(100, 0.125)), call("d", "dear"), spends("b", usage(100, 0.125)), text("x")];
    let run = builder(answers()).tool(dear.clone()).hook(TokenBudget::new(600)).build();
    let run = block_on(run.prompt("go").finish());
    assert_eq!(run.outcome().unwrap().ending, ended("the budget of 600 tokens is used up: 600 were used"));
    let run = builder(answers()).tool(dear).hook(CostBudget::new(0.4)).build();
    let run = block_on(run.prompt("go").finish());
    assert_eq!(
        run.outcome().unwrap().ending,
        ended("the budget of 0.4000 is used up: the run has cost 0.5000")
    );
}

#[test]
fn tokens_are_summed_where_the_provider_gives_no_sum() {
    let mut usage = Usage::default();
    (usage.input, usage.output, usage.cache_read, usage.cache_write) = (1, 2, 3, 4);
    let agent = with(TokenBudget::new(20), vec![spends("a", usage), spends("b", usage), text("never")]);
    let outcome = block_on(agent.prompt("go").unwrap());
    assert_eq!(outcome.ending, ended("the budget of 20 tokens is used up: 20 were used"));
}

#[test]
fn only_equal_calls_in_a_row_are_a_repetition() {
    let a = || ("a", "read", r#"{"x": 1, "y": 2}"#);
    let a_reordered = || ("b", "read", r#"{"y":2,"x":1}"#);
    let other = || ("c", "read", r#"{"x": 2}"#);
    let repeated = ended("tool `read` was called 3 times in a row with the same arguments");
    let one = |call: (&str, &str, &str)| calls(&[call]);
    let table = [
        ("the same, apart", vec![one(a()), one(a_reordered()), one(a())], repeated.clone()),
        ("the same, in one batch", vec![calls(&[a(), a(), a()])], repeated.clone()),
        ("across batches", vec![calls(&[other(), a()]), calls(&[a(), a_reordered()])], repeated.clone()),
        ("in the middle of a batch", vec![calls(&[a(), a(), a(), other()])], repeated),
        ("another in between", vec![one(a()), one(a()), one(other()), one(a()), one(a())], stopped()),
        ("too few", vec![one(a()), one(a())], stopped()),
    ];
    for (name, mut answers, ending) in table {
        answers.push(text("done"));
        let agent = with(RepeatedCalls::new(3), answers);
        let outcome = block_on(agent.prompt("go").unwrap());
        assert_eq!(outcome.ending, ending, "{name}");
    }
}

#[test]
fn a_new_message_starts_the_count_of_repetitions_anew() {
    let agent = with(RepeatedCalls::new(2), vec![call("a", "read"), call("b", "read"), text("done")]);
    let steering = agent.handle();
    let _subscription = agent.subscribe(async move |event, _| {
        if event.kind() == "tool_execution_start" {
            let _ = steering.steer("try again");
        }
    });
    let outcome = block_on(agent.prompt("go").unwrap());
    assert_eq!(outcome.ending, stopped());
}

#[test]
fn calls_that_were_cut_off_are_no_repetition_and_a_declaration_is_no_new_reason() {
    let cut = call("a", "read").stopping(StopReason::Length);
    let agent = with(RepeatedCalls::new(2), vec![cut, call("b", "read"), text("done")]);
    assert_eq!(block_on(agent.prompt("go").unwrap()).ending, stopped());

    let run = builder(vec![call("a", "read"), call("b", "read"), text("never")])
        .hook(RepeatedCalls::new(2))
        .prepare_next_turn(async |_, _| {
            PrepareNextTurn::unchanged().with_tools(vec![quick("read"), quick("another")])
        })
        .build();
    let run = block_on(run.prompt("go").finish());
    assert_eq!(
        run.outcome().unwrap().ending,
        ended("tool `read` was called 2 times in a row with the same arguments")
    );
}

#[test]
fn a_filter_blocks_what_may_not_be_called_also_from_inside_a_tool() {
    let refuses = |filter: ToolFilter, tool: &str| {
        let answers = vec![call("c", tool), text("done")];
        let run = builder(answers).tool(quick("write")).tool(inner_write()).hook(filter).build();
        let run = block_on(run.prompt("go").finish());
        texts(&run.outcome().unwrap().added)[2].clone()
    };
    let no = "result: Tool `write` may not be called here.";
    assert_eq!(refuses(ToolFilter::deny(["write"]), "write"), no);
    assert_eq!(refuses(ToolFilter::deny(["write"]), "read"), "result: read done");
    assert_eq!(refuses(ToolFilter::deny(["write"]), "outer"), no);
    assert_eq!(
        refuses(ToolFilter::allow(["read", "outer"]), "write"),
        format!("{no} The tools that may be called are: `outer`, `read`.")
    );
    assert_eq!(refuses(ToolFilter::allow([""; 0]), "write"), format!("{no} No tool may."));
    assert_eq!(refuses(ToolFilter::allow(["write"]), "write"), "result: write done");
}

fn inner_write() -> turnstate::tool::AgentTool {
    tool_fn("outer", "Calls another tool.", async |_: NoArgs, cx| Ok(cx.call_tool("write", Map::new()).await))
}

#[test]
fn an_approval_asks_in_order_and_remembers_what_is_always_allowed() {
    let log = Log::new();
    let asked = log.clone();
    let approval = Approval::new(async move |request| {
        let tool = request.tool.unwrap();
        asked.note(format!("{} {}", request.call.id, tool.name()));
        match tool.name() {
            "read" => Decision::AlwaysAllow,
            "write" => Decision::Allow,
            _ => Decision::refuse("Not today."),
        }
    })
    .always_allow(["list"]);
    let batch = || {
        calls(&[
            ("1", "read", "{}"),
            ("2", "write", "{}"),
            ("3", "read", "{}"),
            ("4", "drop", "{}"),
            ("5", "list", "{}"),
            ("6", "write", "{}"),
        ])
    };
    let tools = ["write", "drop", "list"].map(quick);
    let run = builder(vec![batch(), text("done"), batch(), text("done")])
        .tools(tools)
        .hook(approval.clone())
        .build();
    let agent = Agent::new(run);
    let outcome = block_on(agent.prompt("go").unwrap());
    assert_eq!(log.take(), ["1 read", "2 write", "4 drop", "6 write"]);
    assert_eq!(
        texts(&outcome.added)[2..8],
        [
            "result: read done",
            "result: write done",
            "result: read done",
            "result: Not today.",
            "result: list done",
            "result: write done"
        ]
    );
    assert_eq!(approval.always_allowed(), ["list", "read"]);
    assert!(approval.ask_again("read") && !approval.ask_again("write"));
    block_on(agent.prompt("again").unwrap());
    assert_eq!(log.take(), ["1 read", "2 write", "4 drop", "6 write"]);
}

#[test]
fn an_abort_drops_an_open_question_and_asks_no_other() {
    let gate = gate();
    let asked = Arc::new(AtomicUsize::new(0));
    let (waits, count) = (gate.clone(), asked.clone());
    let approval = Approval::new(async move |_| {
        count.fetch_add(1, Ordering::SeqCst);
        waits.wait().await;
        Decision::AlwaysAllow
    });
    let batch = calls(&[("a", "read", "{}"), ("b", "read", "{}")]);
    let agent = with(approval.clone(), vec![batch]);
    let mut running = agent.prompt("go").unwrap();
    assert!(settle(&mut running).is_none());
    agent.abort();
    let outcome = settle(&mut running).unwrap();
    assert_eq!(outcome.ending, Ending::Aborted);
    assert_eq!(
        texts(&outcome.added)[2..],
        ["result: Operation aborted", "result: Operation aborted", "aborted: Request was aborted"]
    );
    assert_eq!(asked.load(Ordering::SeqCst), 1);
    assert!(approval.always_allowed().is_empty());
    gate.release();
}

#[test]
fn an_approval_that_panics_is_an_error_result() {
    let approval = Approval::new(async |_| -> Decision { panic!("no terminal") });
    let agent = with(approval, vec![call("a", "read"), text("done")]);
    let outcome = block_on(agent.prompt("go").unwrap());
    assert_eq!(texts(&outcome.added)[2..], ["result: no terminal", "assistant: done"]);
}

#[test]
fn ready_made_hooks_stack_the_first_word_counts() {
    let asked = Arc::new(AtomicUsize::new(0));
    let count = asked.clone();
    let run = builder(vec![call("a", "write"), call("b", "read"), call("c", "read"), text("never")])
        .tool(quick("write"))
        .hook(ToolFilter::deny(["write"]))
        .hook(Approval::new(async move |_| {
            count.fetch_add(1, Ordering::SeqCst);
            Decision::Allow
        }))
        .hook(TurnLimit::new(10))
        .hook(ToolCallLimit::new(2))
        .hook(TokenBudget::new(1))
        .hook(CostBudget::new(1.0))
        .hook(RepeatedCalls::new(2))
        .build();
    let run = block_on(run.prompt("go").finish());
    // The filter refuses before anyone is asked; the call limit and the repetition both end, the first is told.
    assert_eq!(asked.load(Ordering::SeqCst), 2);
    assert_eq!(run.outcome().unwrap().ending, ended("the tool call limit of 2 is used up"));
}

#[test]
fn one_limit_serves_several_agents_at_the_same_time() {
    let gate = gate();
    let limit = TurnLimit::new(2);
    let agents: Vec<_> = (0..3)
        .map(|_| {
            let run = Run::builder(model(reads(5))).tool(gated("read", &gate)).hook(limit).build();
            Agent::new(run)
        })
        .collect();
    let mut running: Vec<_> = agents.iter().map(|agent| agent.prompt("go").unwrap()).collect();
    assert!(running.iter_mut().all(|running| settle(running).is_none()));
    gate.release();
    for mut running in running {
        let outcome = settle(&mut running).unwrap();
        assert_eq!(outcome.ending, ended("the turn limit of 2 is reached"));
        assert_eq!(outcome.added.iter().filter(|m| m.as_assistant().is_some()).count(), 2);
    }
}
