//! What a host writes into the transcript, and what the code it gives may do: the run ends whole all the same.

use std::fmt;
use std::future::Future;
use std::panic::panic_any;
use std::pin::Pin;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::sync::{Arc, Mutex};
use std::task::{Context, Poll, Wake, Waker};
use std::time::Duration;

use futures::FutureExt;
use futures::future::BoxFuture;
use futures::stream::{self, Stream, StreamExt};
use turnstate::hook::PrepareNextTurn;
use turnstate::message::{
    AgentMessage, AssistantContent, AssistantMessage, Content, NoCustom, StopReason, Timestamp, Usage,
};
use turnstate::model::{Delta, Failure, Metadata, Request, StreamFn};
use turnstate::testing::{Checker, Gates, ScriptedModel, ScriptedTool, ToolScript, block_on};
use turnstate::tool::{ExecutionMode, NoArgs, tool_fn};
use turnstate::{
    AbortSignal, Agent, AgentEvent, Clock, Ending, Idle, LoopConfig, MessageSource, Run, Streaming,
    Transcript, TurnChange, agent_loop,
};

use crate::support::*;

/// Runs until so many events were told, cancels, and gives all events and the idle run. `None`: there are not so many.
fn cancelled_after(
    told: usize,
    run: Run<Idle>,
    prompt: Vec<AgentMessage>,
) -> Option<(Run<Idle>, Vec<AgentEvent>)> {
    let mut run = run.prompt(prompt);
    let mut events = Vec::new();
    for _ in 0..told {
        events.push(run.next().now_or_never()??);
    }
    let (idle, missed) = run.cancel_with_events();
    events.extend(missed);
    Some((idle, events))
}

/// The prompts that a host may well write: examples of how to answer, an answer it has from elsewhere.
fn prompts_with_answers() -> Vec<Vec<AgentMessage>> {
    let answers = [
        AssistantMessage::text("an example"),
        AssistantMessage::text("a failed one").with_stop_reason(StopReason::Error),
        AssistantMessage::new(vec![call("x", "work").into()]).with_stop_reason(StopReason::ToolUse),
    ];
    let around = |answer: AssistantMessage| {
        let result: AgentMessage = result("x", "R");
        vec![AgentMessage::user("head"), answer.into(), result, AgentMessage::user("tail")]
    };
    answers.into_iter().map(around).collect()
}

fn works() -> Run<Idle> {
    Run::builder(batch(&[("a", "work")])).tool(ScriptedTool::new("work")).build()
}

#[test]
fn an_answer_that_the_host_writes_is_no_answer_of_the_turn_however_the_run_is_stopped() {
    for prompt in prompts_with_answers() {
        for told in 1.. {
            let Some((idle, events)) = cancelled_after(told, works(), prompt.clone()) else { break };
            Checker::check_all(&events).unwrap();
            let written = idle.transcript().iter().filter(|message| message.role() != "system");
            assert!(written.take(4).eq(&prompt), "after {told} events");
            let made_up = idle.transcript().iter().filter_map(AgentMessage::as_tool_result);
            assert!(made_up.filter(|result| result.tool_call_id == "x").count() == 1, "after {told} events");
            assert!(finish(idle.prompt("again")).outcome().unwrap().is_success());
        }
    }
}

#[test]
fn an_answer_that_a_hook_writes_between_two_turns_is_none_either() {
    for prompt in prompts_with_answers() {
        let given = prompt.clone();
        let run = move || {
            let given = given.clone();
            Run::builder(batch(&[("a", "work")]))
                .tool(ScriptedTool::new("work"))
                .prepare_next_turn(async move |_, _| {
                    given.into_iter().fold(PrepareNextTurn::unchanged(), PrepareNextTurn::with_message)
                })
                .build()
        };
        for told in 1.. {
            let Some((idle, events)) = cancelled_after(told, run(), vec![AgentMessage::user("go")]) else {
                break;
            };
            Checker::check_all(&events).unwrap();
            assert!(finish(idle.prompt("again")).outcome().unwrap().is_success());
        }
    }
}

#[test]
fn a_panic_after_an_answer_that_the_host_wrote_fails_the_run_and_keeps_the_prompt() {
    for prompt in prompts_with_answers() {
        let run = Run::builder(ScriptedModel::new(["text"]))
            .transform_context(async |_, _| panic!("in a hook"))
            .build();
        let (idle, events) = told(run.prompt(prompt.clone()));
        assert_eq!(idle.outcome().unwrap().ending, Ending::Failed { message: "in a hook".to_owned() });
        assert_eq!(idle.transcript()[..4], prompt);
        assert_eq!(idle.transcript().len(), 5);
        assert_eq!(count(&events, "turn_start"), 1);
    }
}

#[test]
fn what_a_host_wrote_costs_the_run_nothing() {
    let mut answer = AssistantMessage::text("from elsewhere");
    answer.usage = Usage::new(100, 100);
    let idle = finish(Run::builder(ScriptedModel::new(["text"])).build().prompt(answer));
    assert_eq!(idle.outcome().unwrap().usage.total_tokens, 0);
}

/// A model that gives this whole answer once.
fn whole(answer: &Arc<AssistantMessage>) -> impl StreamFn {
    let given = AtomicUsize::new(0);
    let answer = answer.clone();
    move |_: Request| {
        let answer = match given.fetch_add(1, Ordering::SeqCst) {
            0 => answer.clone(),
            _ => Arc::new(AssistantMessage::text("done")),
        };
        stream::iter([Delta::Whole { message: answer }])
    }
}

#[test]
fn one_call_that_stands_in_an_answer_twice_is_two_calls() {
    let same = Arc::new(call("a", "work"));
    let content: Vec<AssistantContent> =
        [same.clone(), same.clone(), same].map(AssistantContent::ToolCall).into();
    for reason in [StopReason::ToolUse, StopReason::Length] {
        for mode in [ExecutionMode::Parallel, ExecutionMode::Sequential] {
            let answer = Arc::new(AssistantMessage::new(content.clone()).with_stop_reason(reason));
            let run =
                || Run::builder(whole(&answer)).tool(ScriptedTool::new("work")).tool_execution(mode).build();
            let (idle, events) = told(run().prompt("go"));
            assert_eq!(count(&events, "tool_execution_start"), 3);
            assert_eq!(idle.transcript().iter().filter_map(AgentMessage::as_tool_result).count(), 3);
            for told in 1.. {
                let Some((_, events)) = cancelled_after(told, run(), vec![AgentMessage::user("go")]) else {
                    break;
                };
                Checker::check_all(&events).unwrap();
            }
        }
    }
}

/// A clock that panics when it is asked for the nth time, and from then on or once only.
#[derive(Debug)]
struct Stops {
    asked: AtomicUsize,
    at: usize,
    for_good: bool,
}

impl Stops {
    fn tick(&self) -> u64 {
        let asked = self.asked.fetch_add(1, Ordering::SeqCst);
        assert!(asked != self.at && !(self.for_good && asked > self.at), "the clock stands still");
        asked as u64
    }
}

impl Clock for Stops {
    fn now(&self) -> Timestamp {
        self.tick()
    }

    fn monotonic(&self) -> Duration {
        Duration::from_millis(self.tick())
    }
}

#[test]
fn a_clock_that_panics_says_zero_and_loses_no_run() {
    for for_good in [false, true] {
        for at in 0..24 {
            let clock = Stops { asked: AtomicUsize::new(0), at, for_good };
            let run = Run::builder(batch(&[("a", "work"), ("b", "unknown")]))
                .tool(ScriptedTool::new("work"))
                .clock(clock)
                .build();
            let agent = Agent::new(run);
            assert!(block_on(agent.prompt("go").unwrap()).is_success(), "at {at}");
            drop(agent.prompt("dropped").unwrap());
            assert!(block_on(agent.prompt("again").unwrap()).is_success(), "at {at}");
        }
    }
}

/// The payload of a panic that panics when it is dropped, with a payload that does so too.
struct Bomb(u32);

impl Drop for Bomb {
    fn drop(&mut self) {
        if self.0 > 0 && !std::thread::panicking() {
            panic_any(Self(self.0 - 1));
        }
    }
}

fn explode<T>() -> T {
    panic_any(Bomb(3))
}

/// A stream, or a tool's work, that explodes when it is polled, or never ends and explodes when it is dropped.
#[derive(Clone, Copy)]
enum Explodes {
    Polled,
    Dropped,
}

impl Stream for Explodes {
    type Item = Delta;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Delta>> {
        match *self {
            Self::Polled => explode(),
            Self::Dropped => Poll::Pending,
        }
    }
}

struct Work(Explodes);

impl Future for Work {
    type Output = ();

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<()> {
        match self.0 {
            Explodes::Polled => explode(),
            Explodes::Dropped => Poll::Pending,
        }
    }
}

impl Drop for Work {
    fn drop(&mut self) {
        if matches!(self.0, Explodes::Dropped) && !std::thread::panicking() {
            explode::<()>();
        }
    }
}

struct Holds(Work);

impl Stream for Holds {
    type Item = Delta;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Delta>> {
        Pin::new(&mut self.0.0).poll_next(cx)
    }
}

/// Drives a shared agent's run as far as it goes, aborts it or drops it, and prompts again.
fn stopped_and_prompted_again(agent: &Agent) {
    for abort in [true, false] {
        let mut running = agent.prompt("go").unwrap();
        let ended = (&mut running).now_or_never().is_some();
        if abort && !ended {
            agent.abort();
            assert!((&mut running).now_or_never().is_some(), "an abort ends it");
        }
        drop(running);
        assert!(agent.is_idle());
    }
}

#[test]
fn a_panic_whose_payload_panics_when_dropped_escapes_from_nowhere() {
    for explodes in [Explodes::Polled, Explodes::Dropped] {
        let model = move |_: Request| Holds(Work(explodes));
        stopped_and_prompted_again(&Agent::new(Run::builder(model).build()));

        let calls = [("a", "work"), ("b", "work"), ("c", "fine")];
        let model = ScriptedModel::new([calls_of(&calls), calls_of(&calls)]).then_always("done");
        let run = Run::builder(model)
            .tool(tool_fn("work", "", async move |_: NoArgs, _| {
                Work(explodes).await;
                Ok("never")
            }))
            .tool(ScriptedTool::new("fine"))
            .build();
        stopped_and_prompted_again(&Agent::new(run));
    }
    let agent = Agent::new(Run::builder(batch(&[])).build());
    let _first = agent.subscribe(async |_, _| explode());
    let _second = agent.subscribe(async |_, _| explode());
    stopped_and_prompted_again(&agent);
    stopped_and_prompted_again(&Agent::new(
        Run::builder(batch(&[])).transform_context(async |_, _| explode()).build(),
    ));
}

/// An error whose text panics.
#[derive(Debug)]
struct Unspeakable;

impl fmt::Display for Unspeakable {
    fn fmt(&self, _: &mut fmt::Formatter<'_>) -> fmt::Result {
        panic!("no words")
    }
}

impl std::error::Error for Unspeakable {}

#[test]
fn an_error_whose_text_panics_is_the_error_result_of_its_call_alone() {
    let tool = tool_fn("work", "", async |_: NoArgs, _| -> Result<&str, turnstate::tool::ToolError> {
        Err(Unspeakable)?
    });
    let run = Run::builder(batch(&[("a", "work"), ("b", "fine")])).tool(tool).tool(ScriptedTool::new("fine"));
    let run = finish(run.build().prompt("go"));
    assert!(run.outcome().unwrap().is_success());
    let results: Vec<_> = run.transcript().iter().filter_map(AgentMessage::as_tool_result).collect();
    assert_eq!(results[0].content, [Content::text("the text of the error panicked: no words")]);
    assert!(results[0].is_error && !results[1].is_error);
}

#[test]
fn whatever_part_of_a_run_prompts_its_own_agent_is_told_that_it_is_busy() {
    let refused = Arc::new(AtomicUsize::new(0));
    let agent = Agent::new(Run::builder(batch(&[("a", "work")])).build());
    let prompts = {
        let (agent, refused) = (agent.downgrade(), refused.clone());
        move || {
            let agent = agent.upgrade().unwrap();
            assert!(agent.prompt("inside").is_err() && agent.resume().is_err() && agent.reset().is_err());
            refused.fetch_add(1, Ordering::SeqCst);
        }
    };
    let [by_tool, by_hook, by_listener] = [prompts.clone(), prompts.clone(), prompts];
    agent.set_tools([tool_fn("work", "", async move |_: NoArgs, _| {
        by_tool();
        Ok("done")
    })]);
    let hooks = Run::builder(batch(&[]))
        .before_tool_call(async move |_, _| {
            by_hook();
            turnstate::hook::BeforeToolCall::Allow
        })
        .build();
    agent.set_hooks(hooks.hooks().clone());
    let _subscription = agent.subscribe(async move |event, _| {
        if let AgentEvent::ToolExecutionEnd { .. } = event {
            by_listener();
        }
    });
    let outcome = block_on(agent.prompt("go").unwrap());
    assert!(outcome.is_success());
    assert_eq!(refused.load(Ordering::SeqCst), 3);
}

/// Never ends, counts how many there are, and panics when it is dropped, if it is one of those.
struct Held {
    alive: Arc<AtomicUsize>,
    panics: bool,
}

impl Drop for Held {
    fn drop(&mut self) {
        self.alive.fetch_sub(1, Ordering::SeqCst);
        assert!(!self.panics, "dropped");
    }
}

#[test]
fn calls_that_panic_when_dropped_take_nobody_with_them() {
    for stop in ["abort", "cancel", "drop"] {
        for panicking in [&["b"][..], &["a", "b"], &["a", "b", "c"]] {
            let alive = Arc::new(AtomicUsize::new(0));
            let tool = |name: &str| {
                let (alive, panics) = (alive.clone(), panicking.contains(&name));
                tool_fn(name, "", async move |_: NoArgs, _| {
                    alive.fetch_add(1, Ordering::SeqCst);
                    let _held = Held { alive: alive.clone(), panics };
                    std::future::pending::<()>().await;
                    Ok("never")
                })
            };
            let model = batch(&[("1", "a"), ("2", "b"), ("3", "c")]);
            let run = Run::builder(model).tool(tool("a")).tool(tool("b")).tool(tool("c")).build();
            let mut run = run.prompt("go");
            while run.next().now_or_never().is_some() {}
            assert_eq!(alive.load(Ordering::SeqCst), 3);
            match stop {
                "abort" => {
                    run.abort();
                    let run = run.finish().now_or_never().expect("an abort ends it");
                    assert_eq!(run.outcome().unwrap().ending, Ending::Aborted);
                }
                "cancel" => assert_eq!(run.cancel().outcome().unwrap().ending, Ending::Aborted),
                _ => drop(run),
            }
            assert_eq!(alive.load(Ordering::SeqCst), 0, "{stop} with {panicking:?}");
        }
    }
}

#[test]
fn a_change_that_came_too_late_is_dropped_without_harm() {
    struct PanicsWhenDropped;
    impl Drop for PanicsWhenDropped {
        fn drop(&mut self) {
            panic!("dropped");
        }
    }
    let agent = Agent::new(Run::builder(batch(&[])).build());
    let running = agent.prompt("one").unwrap();
    let held = Arc::new(PanicsWhenDropped);
    let tool = tool_fn("held", "", async move |_: NoArgs, _| {
        let _held = &held;
        Ok("done")
    });
    // There is no further turn that takes it.
    assert!(agent.handle().change_next_turn(TurnChange::new().with_tools([tool])));
    assert!(block_on(running).is_success());
    assert!(block_on(agent.prompt("two").unwrap()).is_success());
    assert!(block_on(agent.prompt("three").unwrap()).is_success());
}

#[test]
fn what_an_answer_used_that_was_cut_before_it_was_told_is_in_state_and_outcome() {
    let mut used = Metadata::default();
    used.usage = Some(Usage::new(100, 50));
    let used = Delta::Metadata(Box::new(used));
    let said = [used, Delta::TextStart { index: 0 }, Delta::text(0, "half")];
    let agent = Agent::new(
        Run::builder(move |_: Request| stream::iter(said.clone()).chain(stream::pending())).build(),
    );
    let mut running = agent.prompt("go").unwrap();
    assert!((&mut running).now_or_never().is_none());
    drop(running);
    assert_eq!(agent.state().outcome().unwrap().usage.total_tokens, 150);
    assert_eq!(agent.state().usage().total_tokens, 150);
}

/// A source of steering that cannot take anything back.
#[derive(Debug)]
struct TakesNothingBack;

impl MessageSource<NoCustom> for TakesNothingBack {
    fn take_steering(&self) -> Vec<AgentMessage> {
        vec![AgentMessage::user("steer")]
    }

    fn take_follow_ups(&self) -> Vec<AgentMessage> {
        Vec::new()
    }

    fn give_back(&self, _: usize) {
        panic!("nothing is taken back");
    }
}

#[test]
fn a_source_that_panics_when_messages_are_given_back_leaves_a_closed_run() {
    for told in 0..30 {
        let mut config = LoopConfig::new(batch(&[("a", "work")]));
        config.messages = Arc::new(TakesNothingBack);
        let prompt = vec![AgentMessage::user("go")];
        let mut run = agent_loop(prompt, Transcript::new(), config, AbortSignal::new());
        let mut events: Vec<_> = (0..told).filter_map(|_| run.next().now_or_never().flatten()).collect();
        events.extend(run.cancel());
        assert!(!run.state().is_running());
        if told > 0 {
            Checker::check_all(&events).unwrap();
        }
    }
}

/// A waker of an executor that has shut down.
struct Gone;

impl Wake for Gone {
    fn wake(self: Arc<Self>) {
        panic!("the executor is gone");
    }
}

#[test]
fn a_waker_that_panics_keeps_no_abort_from_being_delivered() {
    let signal = AbortSignal::new();
    let (mut first, mut second) = (signal.aborted(), signal.aborted());
    let gone = Waker::from(Arc::new(Gone));
    assert!(first.poll_unpin(&mut Context::from_waker(&gone)).is_pending());
    let (woken, count) = counting_waker();
    assert!(second.poll_unpin(&mut Context::from_waker(&woken)).is_pending());
    signal.abort();
    assert_eq!(count.load(Ordering::SeqCst), 1, "whoever waits beside it is woken");

    let agent = Agent::new(Run::builder(|_: Request| stream::pending::<Delta>()).build());
    let mut running = agent.prompt("go").unwrap();
    assert!(running.poll_unpin(&mut Context::from_waker(&gone)).is_pending());
    agent.abort();
    assert_eq!(running.now_or_never().unwrap().ending, Ending::Aborted);
}

/// A spawner whose tasks are polled by hand.
#[derive(Clone, Default)]
struct ByHand(Arc<Mutex<Vec<BoxFuture<'static, ()>>>>);

impl ByHand {
    /// A run of these calls, spawned here; each tells something, and then waits.
    fn run(&self, calls: &[(&str, &str)], gates: &Gates) -> Run<Idle> {
        let script = ToolScript::new().update("half").waits(&gates.gate("end")).returns("whole");
        let tasks = self.0.clone();
        Run::builder(batch(calls))
            .tool(ScriptedTool::new("work").does(script))
            .spawner(move |future| tasks.lock().unwrap().push(future))
            .build()
    }

    fn poll(&self, at: usize, waker: &Waker) -> Poll<()> {
        self.0.lock().unwrap()[at].poll_unpin(&mut Context::from_waker(waker))
    }
}

#[test]
fn a_spawned_call_whose_waker_panics_keeps_no_sibling_alive_when_the_run_goes() {
    let drops: [fn(Run<Streaming>); 2] = [drop, |run| drop(run.cancel())];
    for drops in drops {
        let (workers, gates) = (ByHand::default(), Gates::new());
        let mut run = workers.run(&[("a", "work"), ("b", "work"), ("c", "work")], &gates).prompt("go");
        while let Some(Some(_)) = run.next().now_or_never() {}
        let (woken, count) = counting_waker();
        let gone = Waker::from(Arc::new(Gone));
        for (at, waker) in [&woken, &gone, &woken].into_iter().enumerate() {
            assert!(workers.poll(at, waker).is_pending());
        }
        assert_eq!(gates.waiting().len(), 1);
        drops(run);
        assert_eq!(count.load(Ordering::SeqCst), 2, "each is woken, to be dropped");
        assert!((0..3).all(|at| workers.poll(at, Waker::noop()).is_ready()));
        assert!(gates.waiting().is_empty());
    }
}

#[test]
fn the_waker_of_a_run_that_panics_is_no_concern_of_its_spawned_calls() {
    let gone = Waker::from(Arc::new(Gone));
    for (is_dropped, result) in [
        (false, "result a: whole"),
        (true, "error a: The call was given up before its end: what runs the tools has dropped it."),
    ] {
        let (workers, gates) = (ByHand::default(), Gates::new());
        let mut run = workers.run(&[("a", "work")], &gates).prompt("go");
        let mut rests =
            || while let Poll::Ready(Some(_)) = run.poll_next_unpin(&mut Context::from_waker(&gone)) {};
        // What a call tells, its end, and its drop each wake the run.
        rests();
        assert!(workers.poll(0, Waker::noop()).is_pending());
        rests();
        if is_dropped {
            workers.0.lock().unwrap().clear();
        } else {
            gates.release("end");
            assert!(workers.poll(0, Waker::noop()).is_ready());
        }
        let run = block_on(run.finish());
        assert_eq!(story(run.transcript())[2..], [result, "assistant: done"]);
    }
}

/// A waker, and how often it was woken.
fn counting_waker() -> (Waker, Arc<AtomicUsize>) {
    struct Counts(Arc<AtomicUsize>);
    impl Wake for Counts {
        fn wake(self: Arc<Self>) {
            self.0.fetch_add(1, Ordering::SeqCst);
        }
    }
    let count = Arc::new(AtomicUsize::new(0));
    (Waker::from(Arc::new(Counts(count.clone()))), count)
}

#[test]
fn a_listener_that_panics_after_an_abort_of_the_providers_own_ends_the_run_as_failed() {
    let aborted = Delta::Error(Box::new(Failure::aborted("the provider gave up")));
    let agent = Agent::new(Run::builder(move |_: Request| stream::iter([aborted.clone()])).build());
    let _subscription = agent.subscribe(async |event, _| {
        assert!(!matches!(event, AgentEvent::TurnEnd { .. }), "in a listener");
    });
    let outcome = block_on(agent.prompt("go").unwrap());
    assert_eq!(outcome.ending, Ending::Failed { message: "the provider gave up".to_owned() });
}
