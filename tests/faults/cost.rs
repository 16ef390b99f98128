//! What streaming costs: bytes that are allocated, counted and not timed. Twice the answer is at most about twice the
//! bytes.

use allocation_counter::measure;
use turnstate::message::AgentMessage;
use turnstate::model::Delta;
use turnstate::testing::{Response, ScriptedModel, block_on};
use turnstate::{Agent, Run};

use crate::support::*;

/// The bytes that a run allocates while it streams this answer to three listeners, and the finished answer.
fn streaming(answer: Response) -> (u64, AgentMessage) {
    let agent = Agent::new(Run::builder(ScriptedModel::new([answer])).build());
    for _ in 0..3 {
        agent.subscribe(async |event, _| drop(std::hint::black_box(event.clone()))).keep();
    }
    let mut last = None;
    let allocated = measure(|| {
        let outcome = block_on(agent.prompt("go").unwrap());
        last = outcome.added.last().cloned();
    });
    (allocated.bytes_total, last.unwrap())
}

/// Arguments of this many bytes, in pieces.
fn arguments(bytes: usize, piece: usize) -> Response {
    let text = format!(r#"{{"text":"{}"}}"#, "x".repeat(bytes));
    // Cut off at its length, so that no tool is needed and the run is this answer alone.
    Response::new().and_raw_tool_call("c", "write", text).in_chunks_of(piece).failing("over")
}

#[track_caller]
fn assert_linear(small: u64, large: u64) {
    assert!(large < small * 5 / 2, "{small} bytes, and {large} for twice as much");
}

#[test]
fn twice_the_arguments_cost_twice_the_bytes_whatever_the_pieces() {
    for (bytes, piece) in [(300_000, 40), (50_000, 1)] {
        let (small, _) = streaming(arguments(bytes, piece));
        let (large, message) = streaming(arguments(2 * bytes, piece));
        assert_linear(small, large);
        let call = message.as_assistant().unwrap().tool_calls().next().unwrap().clone();
        assert_eq!(call.arguments["text"], "x".repeat(2 * bytes));
    }
}

#[test]
fn an_answer_in_many_deltas_is_copied_for_none_of_them() {
    let answer = |deltas: usize| {
        let start = [Delta::Start, Delta::TextStart { index: 0 }];
        let pieces = (0..deltas).map(|_| Delta::text(0, "x".repeat(50)));
        Response::deltas(
            start.into_iter().chain(pieces).chain([Delta::done(turnstate::message::StopReason::Stop)]),
        )
    };
    let (small, _) = streaming(answer(10_000));
    let (large, message) = streaming(answer(20_000));
    assert_linear(small, large);
    // Three copies of a delta, the futures that hear it, and the growing text: not a hundred times the text.
    assert!(large < 20_000 * 2_000, "{large} bytes for a text of a million");
    assert_eq!(message.as_assistant().unwrap().texts().next().unwrap().len(), 1_000_000);
    assert_eq!(story(&[message]).len(), 1);
}
