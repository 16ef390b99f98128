//! The workloads.

use std::sync::Arc;

use futures::executor::block_on;
use turnstate::message::NoCustom;
use turnstate::model::PartialBlock;
use turnstate::tool::{AgentTool, NoArgs, tool_fn};
use turnstate::transcript::{Projector, Repair};
use turnstate::{Idle, Run, Transcript};

use crate::measure::{Measured, beside_floor};
use crate::{floors, models};

type Load = fn(usize) -> Measured;

pub(crate) const USAGE: &str = "\
w1 one answer of n text deltas of 8 bytes, every event read
w2 n turns, each one no-op tool call
w3 one answer with n no-op calls, parallel
w4 one call whose arguments of n bytes come in 16-byte deltas, the partial value read after every delta
w4-unread the same, without reading
w5 n agents at once on two threads, three turns each, one tool that yields once
w7 JSON of an n-message transcript read, projected, and written again";

pub(crate) fn find(name: &str) -> Option<(Load, usize)> {
    Some(match name {
        "w1" => (w1, 1_000_000),
        "w2" => (w2, 10_000),
        "w3" => (w3, 10_000),
        "w4" => (w4, 1 << 20),
        "w4-unread" => (w4_unread, 1 << 20),
        "w5" => (w5, 10_000),
        "w7" => (w7, 10_000),
        _ => return None,
    })
}

fn no_op() -> AgentTool {
    tool_fn("no_op", "Does nothing.", async |_: NoArgs, _| Ok("ok"))
}

/// Reads every event of a run.
fn read_all(run: Run<Idle>) {
    let run = block_on(async {
        let mut run = run.prompt("Go.");
        while let Some(event) = run.next().await {
            std::hint::black_box(event);
        }
        run.finish().await
    });
    assert!(run.outcome().is_some_and(turnstate::Outcome::is_success));
}

fn w1(deltas: usize) -> Measured {
    beside_floor(
        deltas,
        || Run::builder(models::text_deltas(deltas)).build(),
        read_all,
        || floors::boxed_deltas(deltas),
        floors::append,
    )
}

fn w2(turns: usize) -> Measured {
    beside_floor(
        turns,
        || Run::builder(models::tool_turns(turns)).tool(no_op()).build(),
        read_all,
        Vec::new,
        |mut transcript| {
            (0..turns).for_each(|_| floors::push_turn(&mut transcript, 1));
            std::hint::black_box(transcript);
        },
    )
}

fn w3(calls: usize) -> Measured {
    beside_floor(
        calls,
        || Run::builder(models::many_calls(calls)).tool(no_op()).build(),
        read_all,
        || (),
        |()| floors::ready_futures(calls),
    )
}

/// An object with one long text.
fn long_object(bytes: usize) -> Arc<str> {
    let text = "The quick brown fox jumps over the lazy dog. ".repeat(bytes / 45 + 1);
    format!("{{\"text\":\"{}\"}}", &text[..bytes.saturating_sub(11)]).into()
}

fn w4(bytes: usize) -> Measured {
    let text = long_object(bytes);
    beside_floor(
        bytes,
        || Run::builder(models::long_arguments(text.clone())).tool(no_op()).build(),
        |run| {
            let mut read = 0;
            block_on(async {
                let mut run = run.prompt("Go.");
                while run.next().await.is_some() {
                    if let Some(PartialBlock::ToolCall(call)) = run.state().partial().and_then(|m| m.block(0))
                    {
                        read +=
                            call.arguments().and_then(|args| args.get("text")?.as_str()).map_or(0, str::len);
                    }
                }
            });
            assert!(read > 0);
        },
        || (),
        |()| floors::parse(&text),
    )
}

fn w4_unread(bytes: usize) -> Measured {
    let text = long_object(bytes);
    let deltas = bytes.div_ceil(16);
    beside_floor(
        deltas,
        || Run::builder(models::long_arguments(text.clone())).tool(no_op()).build(),
        read_all,
        || floors::boxed_deltas(deltas),
        floors::append,
    )
}

fn w5(agents: usize) -> Measured {
    let runtime = || {
        tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().expect("a runtime can be built")
    };
    beside_floor(
        agents,
        || {
            let tool = tool_fn("no_op", "Yields once.", async |_: NoArgs, _| {
                tokio::task::yield_now().await;
                Ok("ok")
            });
            (runtime(), tool)
        },
        |(runtime, tool)| {
            runtime.block_on(async {
                let tasks: Vec<_> = (0..agents)
                    .map(|_| {
                        let run = Run::builder(models::tool_turns(2)).tool(tool.clone()).build();
                        tokio::spawn(async move { run.prompt("Go.").finish().await.transcript().len() })
                    })
                    .collect();
                for task in tasks {
                    assert_eq!(task.await.expect("no task panics"), 7);
                }
            });
        },
        runtime,
        |runtime| {
            runtime.block_on(async {
                let tasks: Vec<_> = (0..agents)
                    .map(|_| {
                        tokio::spawn(async {
                            tokio::task::yield_now().await;
                            tokio::task::yield_now().await;
                        })
                    })
                    .collect();
                for task in tasks {
                    task.await.expect("no task panics");
                }
            });
        },
    )
}

fn w7(messages: usize) -> Measured {
    let json = floors::saved_transcript(messages);
    beside_floor(
        messages,
        || (),
        |()| {
            let transcript: Transcript<NoCustom> =
                serde_json::from_str(&json).expect("a saved transcript loads");
            std::hint::black_box(Projector::of(Repair::On, &transcript).request());
            std::hint::black_box(serde_json::to_string(&transcript).expect("transcripts are JSON"));
        },
        || (),
        |()| floors::through_values(&json),
    )
}
