//! The workloads.

use std::sync::Arc;

use futures::executor::block_on;
use turnstate::message::NoCustom;
use turnstate::model::PartialBlock;
use turnstate::tool::{AgentTool, NoArgs, tool_fn};
use turnstate::transcript::{Projector, Repair};
use turnstate::{Agent, Idle, Run, Transcript};

use super::measure::{Measured, beside_floor};
use super::{floors, models};

/// One workload.
pub(crate) struct Workload {
    pub(crate) name: &'static str,
    /// What it does with its size n.
    pub(crate) what: &'static str,
    pub(crate) run: fn(usize) -> Measured,
    /// The usual size, and a small one to see whether the cost stays flat.
    pub(crate) sizes: [usize; 2],
    /// The most it may cost, as a multiple of the floor.
    pub(crate) budget: f64,
}

pub(crate) const ALL: &[Workload] = &[
    Workload {
        name: "w1",
        what: "one answer of n text deltas of 8 bytes, every event read",
        run: w1,
        sizes: [1_000_000, 10_000],
        budget: 2.0,
    },
    Workload {
        name: "w2",
        what: "n turns, each one no-op tool call",
        run: w2,
        sizes: [10_000, 200],
        budget: 10.0,
    },
    Workload {
        name: "w3",
        what: "one answer with n no-op calls, parallel",
        run: w3,
        sizes: [10_000, 100],
        budget: 5.0,
    },
    Workload {
        name: "w4",
        what: "one call whose arguments of n bytes come in 16-byte deltas, the partial value read after each",
        run: w4,
        sizes: [1 << 20, 1 << 16],
        budget: 100.0,
    },
    Workload {
        name: "w4-unread",
        what: "the same without reading, per delta, beside the floor of w1",
        run: w4_unread,
        sizes: [1 << 20, 1 << 16],
        budget: 6.0,
    },
    Workload {
        name: "w5",
        what: "n agents at once on two threads, three turns each, one tool that yields once",
        run: w5,
        sizes: [10_000, 1_000],
        budget: f64::INFINITY,
    },
    Workload {
        name: "w6",
        what: "n turns of w2 on the shared agent with three listeners, beside w2 itself",
        run: w6,
        sizes: [2_000, 200],
        budget: 1.5,
    },
    Workload {
        name: "w7",
        what: "JSON of an n-message transcript read, projected, and written again",
        run: w7,
        sizes: [10_000, 1_000],
        budget: 0.5,
    },
];

pub(crate) fn no_op() -> AgentTool {
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

fn w6(turns: usize) -> Measured {
    beside_floor(
        turns,
        || {
            let agent = Agent::new(Run::builder(models::tool_turns(turns)).tool(no_op()).build());
            let listeners = [(); 3].map(|()| {
                agent.subscribe(async |event, _| {
                    std::hint::black_box(event);
                })
            });
            (agent, listeners)
        },
        |(agent, listeners)| {
            let outcome = block_on(agent.prompt("Go.").expect("the agent is idle"));
            assert!(outcome.is_success());
            drop(listeners);
        },
        || Run::builder(models::tool_turns(turns)).tool(no_op()).build(),
        read_all,
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
