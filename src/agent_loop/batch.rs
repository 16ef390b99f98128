//! One batch: all tool calls of one answer. Results come in the order of the calls, whatever order they end in.

use std::future::{Future, poll_fn};
use std::panic::{AssertUnwindSafe, catch_unwind};
use std::pin::Pin;
use std::slice;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_util::FutureExt;
use futures_util::future::{CatchUnwind, RemoteHandle};
use futures_util::stream::{FuturesUnordered, StreamExt};
use smallvec::{SmallVec, smallvec};

use super::call::{Batch, Prepared, Ready};
use super::closing::made_up_result;
use super::config::Spawner;
use super::inside::inside;
use super::schedule::{BatchOutcome, batch_mode, batch_outcome};
use super::spine::Spine;
use super::updates::{Update, Updates};
use crate::clock::Clock;
use crate::error_text::drop_foreign;
use crate::event::AgentEvent;
use crate::message::{AgentMessage, AssistantMessage, CustomMessage, ToolCall, ToolResultMessage};
use crate::tool::{ExecutionMode, ToolResult};

/// The text of a call that is refused since its answer was cut off.
const TRUNCATED: &str = "The call was not run: the answer was cut off at its length limit, so the arguments may be \
                         incomplete. Make the call again, in a shorter answer.";

/// What a batch gave.
pub(super) struct BatchResults {
    pub(super) outcome: BatchOutcome,
    pub(super) results: Arc<[Arc<ToolResultMessage>]>,
}

impl BatchResults {
    pub(super) fn none() -> Self {
        Self { outcome: BatchOutcome::Empty, results: Arc::default() }
    }

    fn of(results: &[Arc<ToolResult>]) -> Self {
        Self {
            outcome: batch_outcome(results.iter().map(|result| result.terminate)),
            results: results.iter().map(|result| result.message.clone()).collect(),
        }
    }
}

impl<M: CustomMessage> Spine<M> {
    /// Runs an answer's calls.
    pub(super) async fn run_batch(&mut self, answer: &AssistantMessage) -> BatchResults {
        let calls: SmallVec<[Arc<ToolCall>; FEW]> = answer.tool_calls().cloned().collect();
        let called = calls
            .iter()
            .filter_map(|call| self.config.tools.get(&call.name))
            .map(|tool| tool.execution_mode());
        let mode = batch_mode(self.config.tool_execution, called);
        let batch = Arc::new(self.batch());
        let results = match mode {
            ExecutionMode::Parallel => self.run_parallel(batch, &calls).await,
            ExecutionMode::Sequential => self.run_sequential(batch, &calls).await,
        };
        self.remember_results(&results);
        BatchResults::of(&results)
    }

    /// Answers the calls of a cut-off answer by errors: what was cut is not to be executed.
    pub(super) async fn refuse_batch(&mut self, answer: &AssistantMessage) -> BatchResults {
        let mut results = Vec::new();
        for call in answer.tool_calls() {
            self.emit(AgentEvent::ToolExecutionStart { call: call.clone() }).await;
            let result = Arc::new(made_up_result(call, TRUNCATED.to_owned(), self.config.clock.timestamp()));
            self.emit_end(call, &result).await;
            self.emit_results(slice::from_ref(&result)).await;
            results.push(result);
        }
        self.remember_results(&results);
        BatchResults::of(&results)
    }

    /// All calls are prepared in order; then those that can run do so together, and each ends when it is done.
    async fn run_parallel(&mut self, batch: Arc<Batch<M>>, calls: &[Arc<ToolCall>]) -> Results {
        let mut results: SmallVec<[Option<Arc<ToolResult>>; FEW]> = smallvec![None; calls.len()];
        let mut ready = SmallVec::new();
        for (at, (call, result)) in calls.iter().zip(&mut results).enumerate() {
            self.emit(AgentEvent::ToolExecutionStart { call: call.clone() }).await;
            match batch.prepare(call).await {
                Prepared::Ready(prepared) => ready.push((at, call.clone(), prepared)),
                Prepared::Settled(settled) => {
                    self.emit_end(call, &settled).await;
                    *result = Some(settled);
                }
            }
        }
        self.run_together(&batch, ready, calls, &mut results).await;
        // The batch holds the context as it was; the results can be added in place once it is gone.
        drop(batch);
        let results: Results = results.into_iter().flatten().collect();
        self.emit_results(&results).await;
        results
    }

    /// One call after the other, each with its result message. All see the context as it was before the batch.
    async fn run_sequential(&mut self, batch: Arc<Batch<M>>, calls: &[Arc<ToolCall>]) -> Results {
        let mut results: SmallVec<[Option<Arc<ToolResult>>; FEW]> = smallvec![None; calls.len()];
        for (at, call) in calls.iter().enumerate() {
            self.emit(AgentEvent::ToolExecutionStart { call: call.clone() }).await;
            match batch.prepare(call).await {
                Prepared::Ready(prepared) => {
                    let alone = smallvec![(at, call.clone(), prepared)];
                    self.run_together(&batch, alone, calls, &mut results).await;
                }
                Prepared::Settled(settled) => {
                    self.emit_end(call, &settled).await;
                    if let Some(result) = results.get_mut(at) {
                        *result = Some(settled);
                    }
                }
            }
            if let Some(Some(result)) = results.get(at) {
                self.emit_results(slice::from_ref(result)).await;
            }
        }
        results.into_iter().flatten().collect()
    }

    /// Runs calls to their ends: where the run is polled, or where the host's spawner runs them.
    async fn run_together(
        &mut self,
        batch: &Arc<Batch<M>>,
        ready: SmallVec<[ReadyCall; FEW]>,
        calls: &[Arc<ToolCall>],
        results: &mut [Option<Arc<ToolResult>>],
    ) {
        let Some(spawner) = self.config.spawner.clone() else {
            let running = ready.into_iter().map(|(at, call, ready)| execute(batch.clone(), at, call, ready));
            return self.collect_running(&batch.updates, InFlight::of(running), calls, results).await;
        };
        let running = ready.into_iter().map(|(at, call, ready)| {
            let executing = execute(batch.clone(), at, call.clone(), ready);
            let executing = inside(self.abort.clone(), executing);
            Elsewhere::start(&*spawner, at, call, &self.config.clock, executing)
        });
        let running = InFlight::of(running);
        self.collect_running(&batch.updates, running, calls, results).await;
    }

    /// Tells of the running calls' progress and ends, as they come. Updates of a call come before its end.
    async fn collect_running<F: Future<Output = Ended>>(
        &mut self,
        updates: &Updates,
        mut running: InFlight<F>,
        calls: &[Arc<ToolCall>],
        results: &mut [Option<Arc<ToolResult>>],
    ) {
        let mut ended = None;
        loop {
            match next_step(updates, &mut running, &mut ended).await {
                Step::Update((call, partial)) => {
                    self.emit(AgentEvent::ToolExecutionUpdate { call, partial }).await;
                }
                Step::End((at, result)) => {
                    if let (Some(call), Some(place)) = (calls.get(at), results.get_mut(at)) {
                        self.emit_end(call, &result).await;
                        *place = Some(result);
                    }
                }
                Step::AllEnded => return,
            }
        }
    }

    async fn emit_end(&mut self, call: &Arc<ToolCall>, result: &Arc<ToolResult>) {
        self.emit(AgentEvent::ToolExecutionEnd { call: call.clone(), result: result.clone() }).await;
    }

    /// Writes results, one after the other. Nothing comes in between, so the loop is polled again after the last.
    async fn emit_results(&mut self, results: &[Arc<ToolResult>]) {
        let whole = |result: &Arc<ToolResult>| {
            let message = AgentMessage::ToolResult(result.message.clone());
            [AgentEvent::MessageStart { message: message.clone() }, AgentEvent::MessageEnd { message }]
        };
        if !results.is_empty() {
            self.emit_all(results.iter().flat_map(whole).collect()).await;
        }
    }

    /// The results become part of the context only when the whole batch is over.
    fn remember_results(&mut self, results: &[Arc<ToolResult>]) {
        for result in results {
            self.remember(AgentMessage::ToolResult(result.message.clone()));
        }
    }
}

/// How many calls a batch may have before it needs lists of its own. Most have one.
const FEW: usize = 2;

/// A call that can be executed, with its place in the batch.
type ReadyCall = (usize, Arc<ToolCall>, Box<Ready>);

/// The result of a call, with its place in the batch.
type Ended = (usize, Arc<ToolResult>);

/// The results of a batch, in the order of the calls.
type Results = SmallVec<[Arc<ToolResult>; FEW]>;

async fn execute<M: CustomMessage>(
    batch: Arc<Batch<M>>,
    at: usize,
    call: Arc<ToolCall>,
    ready: Box<Ready>,
) -> Ended {
    let update = |partial| batch.updates.push(&call, partial);
    (at, batch.execute(&call, ready, &update, 0).await)
}

/// The calls that are executed. One alone, as most are, needs no set.
enum InFlight<F> {
    /// All have ended.
    None,
    One(Pin<Box<F>>),
    Many(FuturesUnordered<F>),
}

impl<F: Future<Output = Ended>> InFlight<F> {
    fn of(mut running: impl ExactSizeIterator<Item = F>) -> Self {
        match (running.len(), running.next()) {
            (_, None) => Self::None,
            (1, Some(alone)) => Self::One(Box::pin(alone)),
            (_, Some(first)) => Self::Many(std::iter::once(first).chain(running).collect()),
        }
    }

    /// The next call that has ended; `None` when all have.
    fn poll_next(&mut self, cx: &mut Context<'_>) -> Poll<Option<Ended>> {
        match self {
            Self::None => Poll::Ready(None),
            Self::One(alone) => {
                let ended = ready!(alone.poll_unpin(cx));
                *self = Self::None;
                Poll::Ready(Some(ended))
            }
            Self::Many(running) => running.poll_next_unpin(cx),
        }
    }
}

/// The text of a call that the host's spawner did not bring to its end.
const GIVEN_UP: &str = "The call was given up before its end: what runs the tools has dropped it.";

/// A call on the host's threads. Dropping this cancels it.
struct Elsewhere {
    at: usize,
    call: Arc<ToolCall>,
    clock: Arc<dyn Clock>,
    /// It panics when the call was dropped before its end.
    ended: CatchUnwind<AssertUnwindSafe<RemoteHandle<Ended>>>,
}

impl Elsewhere {
    /// Hands a call to the host's spawner. One that the spawner drops, or that it panics over, is given up.
    fn start(
        spawner: &dyn Spawner,
        at: usize,
        call: Arc<ToolCall>,
        clock: &Arc<dyn Clock>,
        executing: impl Future<Output = Ended> + Send + 'static,
    ) -> Self {
        let (executing, ended) = executing.remote_handle();
        if let Err(panic) = catch_unwind(AssertUnwindSafe(|| spawner.spawn(Box::pin(executing)))) {
            drop_foreign(panic);
        }
        Self { at, call, clock: clock.clone(), ended: AssertUnwindSafe(ended).catch_unwind() }
    }
}

impl Future for Elsewhere {
    type Output = Ended;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Ended> {
        self.ended.poll_unpin(cx).map(|ended| {
            ended.unwrap_or_else(|panic| {
                drop_foreign(panic);
                let result = made_up_result(&self.call, GIVEN_UP.to_owned(), self.clock.timestamp());
                (self.at, Arc::new(result))
            })
        })
    }
}

enum Step {
    Update(Update),
    End(Ended),
    AllEnded,
}

/// The next thing to tell. A call that has ended waits until every update that was pushed before is told.
async fn next_step<F: Future<Output = Ended>>(
    updates: &Updates,
    running: &mut InFlight<F>,
    ended: &mut Option<Ended>,
) -> Step {
    poll_fn(|cx| {
        if let Some(update) = updates.pop() {
            return Poll::Ready(Step::Update(update));
        }
        if let Some(ended) = ended.take() {
            return Poll::Ready(Step::End(ended));
        }
        let polled = running.poll_next(cx);
        let update = if polled.is_pending() { updates.poll_pop(cx) } else { updates.pop() };
        match (update, polled) {
            (Some(update), polled) => {
                if let Poll::Ready(end) = polled {
                    *ended = end;
                }
                Poll::Ready(Step::Update(update))
            }
            (None, Poll::Ready(Some(ended))) => Poll::Ready(Step::End(ended)),
            (None, Poll::Ready(None)) => Poll::Ready(Step::AllEnded),
            (None, Poll::Pending) => Poll::Pending,
        }
    })
    .await
}
