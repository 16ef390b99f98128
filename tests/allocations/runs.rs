//! What a run allocates and how often it polls: the work grows with the conversation, and with nothing else.

use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::task::Poll;

use allocation_counter::{AllocationInfo, measure};
use futures::executor::block_on;
use futures::stream::{self, BoxStream, StreamExt};
use turnstate::message::StopReason;
use turnstate::model::{Delta, Request, StreamFn};
use turnstate::tool::{NoArgs, tool_fn};
use turnstate::{Outcome, Run};

/// One answer of `count` short texts; each allocates its own text, and nothing else.
fn texts(count: usize) -> impl StreamFn {
    move |_: Request| {
        let head = [Delta::Start, Delta::TextStart { index: 0 }];
        let body = (0..count).map(|_| Delta::text(0, "8 bytes "));
        stream::iter(head.into_iter().chain(body).chain([Delta::done(StopReason::Stop)]))
    }
}

/// `turns` answers with one call, then one without.
fn tool_turns(turns: usize) -> impl StreamFn {
    move |request: Request| -> BoxStream<'static, Delta> {
        if request.messages.len().saturating_sub(2) / 2 >= turns {
            return stream::iter([Delta::Start, Delta::done(StopReason::Stop)]).boxed();
        }
        let end = Delta::ToolCallEnd { index: 0, call: None };
        let call = [Delta::Start, Delta::tool_call_start(0, "c", "no_op"), Delta::tool_call(0, "{}"), end];
        stream::iter(call.into_iter().chain([Delta::done(StopReason::ToolUse)])).boxed()
    }
}

/// Everything that a whole run allocates, its events read and dropped.
fn running(model: impl StreamFn) -> AllocationInfo {
    let no_op = tool_fn("no_op", "Does nothing.", async |_: NoArgs, _| Ok("ok"));
    let idle = Run::builder(model).tool(no_op).build();
    measure(|| {
        let idle = block_on(async {
            let mut run = idle.prompt("Go.");
            while run.next().await.is_some() {}
            run.finish().await
        });
        assert!(idle.outcome().is_some_and(Outcome::is_success));
    })
}

#[test]
fn a_delta_costs_no_allocation_beside_its_own_text() {
    let (fewer, more) = (running(texts(1_000)).count_total, running(texts(3_000)).count_total);
    let beside_own = more - fewer - 2_000;
    assert!(
        beside_own <= 4,
        "{beside_own} for 2,000 deltas: the text itself grows a few times, nothing else does"
    );
}

#[test]
fn a_turn_costs_the_same_however_long_the_run_is() {
    let at = |turns| running(tool_turns(turns)).count_total;
    let (early, late) = (at(200) - at(100), at(1_100) - at(1_000));
    assert!(early.abs_diff(late) <= 16, "100 turns cost {early} allocations early, and {late} late");
}

#[test]
fn twice_the_turns_take_twice_the_memory_and_not_more() {
    let (once, twice) = (running(tool_turns(400)).bytes_total, running(tool_turns(800)).bytes_total);
    assert!(twice < once * 22 / 10, "{once} bytes, then {twice}: no request may copy the conversation");
}

#[test]
fn a_stream_is_polled_once_for_each_delta() {
    let polls = |deltas: usize| {
        let polls = Arc::new(AtomicUsize::new(0));
        let counted = polls.clone();
        let model = move |_: Request| {
            let counted = counted.clone();
            let mut left = texts(deltas).stream(Request::new(
                turnstate::model::Model::default(),
                turnstate::transcript::Messages::new(),
            ));
            stream::poll_fn(move |cx| -> Poll<Option<Delta>> {
                counted.fetch_add(1, Ordering::Relaxed);
                left.poll_next_unpin(cx)
            })
        };
        let _ = running(model);
        polls.load(Ordering::Relaxed)
    };
    assert_eq!(polls(2_000) - polls(1_000), 1_000);
}
