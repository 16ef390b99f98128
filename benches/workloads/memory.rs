//! What an agent holds in memory.

use futures::FutureExt;
use futures::stream::{self, StreamExt};
use turnstate::Run;
use turnstate::model::{Delta, Request};

use super::loads::no_op;
use super::measure::rss_kb;

/// Bytes for each of many runs: idle with a system prompt and a tool, and in the middle of an answer.
#[derive(Debug, Clone, Copy)]
pub(crate) struct BytesPerAgent {
    pub(crate) idle: u64,
    pub(crate) running: u64,
}

/// Measured by what the process holds, so with everything around an agent that the allocator adds.
pub(crate) fn bytes_per_agent(agents: u64) -> BytesPerAgent {
    let tool = no_op();
    let speaks_and_waits = |_: Request| {
        let said = [Delta::Start, Delta::TextStart { index: 0 }, Delta::text(0, "Let me see.")];
        stream::iter(said).chain(stream::pending())
    };
    let per_agent = |before: u64| rss_kb().saturating_sub(before) * 1024 / agents;
    let before = rss_kb();
    let idle: Vec<_> = (0..agents)
        .map(|_| Run::builder(speaks_and_waits).system_prompt("You are terse.").tool(tool.clone()).build())
        .collect();
    let bytes_idle = per_agent(before);
    let running: Vec<_> = idle
        .into_iter()
        .map(|run| {
            let mut run = run.prompt("What is the time?");
            while run.next().now_or_never().is_some() {}
            run
        })
        .collect();
    let bytes_running = per_agent(before);
    drop(running);
    BytesPerAgent { idle: bytes_idle, running: bytes_running }
}
