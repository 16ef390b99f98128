//! One batch: all tool calls of one answer. Results come in the order of the calls, whatever order they end in.

use std::future::{Future, poll_fn};
use std::pin::{Pin, pin};
use std::slice;
use std::sync::Arc;
use std::task::{Context, Poll, ready};

use futures_channel::oneshot;
use futures_util::FutureExt;
use futures_util::stream::{FuturesUnordered, StreamExt};
use smallvec::{SmallVec, smallvec};

use super::call::{Batch, Prepared, Ready};
use super::closing::made_up_result;
use super::config::Spawner;
use super::foreign::Foreign;
use super::inside::inside;
use super::schedule::{BatchOutcome, batch_mode, batch_outcome};
use super::spine::Spine;
use super::updates::{Update, Updates};
use crate::error_text::call_foreign;
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
        let called = calls.iter().map(|call| self.config.tools.execution_mode(&call.name));
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
            self.note(ended(call, &result));
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
            match self.take_up(&batch, call).await {
                Prepared::Ready(prepared) => ready.push(ready_call(&batch, at, call, prepared)),
                Prepared::Settled(settled) => *result = Some(settled),
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
        let mut results = Results::new();
        for call in calls {
            let mut result = [None];
            match self.take_up(&batch, call).await {
                Prepared::Ready(prepared) => {
                    let alone = smallvec![ready_call(&batch, 0, call, prepared)];
                    self.run_together(&batch, alone, slice::from_ref(call), &mut result).await;
                }
                Prepared::Settled(settled) => result = [Some(settled)],
            }
            let [result] = result;
            self.emit_results(result.as_slice()).await;
            results.extend(result);
        }
        results
    }

    /// Tells that a call starts, and prepares it; one that is not executed ends at once.
    async fn take_up(&mut self, batch: &Batch<M>, call: &Arc<ToolCall>) -> Prepared {
        self.emit(AgentEvent::ToolExecutionStart { call: call.clone() }).await;
        let prepared = batch.prepare(call).await;
        if let Prepared::Settled(settled) = &prepared {
            self.emit(ended(call, settled)).await;
        }
        prepared
    }

    /// Runs calls to their ends: where the run is polled, or where the host's spawner runs them.
    async fn run_together<F: Future<Output = Ended> + Send + 'static>(
        &mut self,
        batch: &Arc<Batch<M>>,
        ready: SmallVec<[ReadyCall<F>; FEW]>,
        calls: &[Arc<ToolCall>],
        results: &mut [Option<Arc<ToolResult>>],
    ) {
        let Some(spawner) = self.config.spawner.clone() else {
            let running = ready.into_iter().map(|(_, executing)| executing);
            return self.collect_running(&batch.updates, InFlight::of(running), calls, results).await;
        };
        let running = ready
            .into_iter()
            .map(|(at, executing)| Elsewhere::start(&*spawner, at, inside(self.abort.clone(), executing)));
        let running = InFlight::of(running);
        self.collect_running(&batch.updates, running, calls, results).await;
    }

    /// Tells of the running calls' progress and ends, as they come. Updates of a call come before its end.
    async fn collect_running<F: Future<Output = Ended> + Unpin>(
        &mut self,
        updates: &Updates,
        mut running: InFlight<F>,
        calls: &[Arc<ToolCall>],
        results: &mut [Option<Arc<ToolResult>>],
    ) {
        let mut due = Due::default();
        loop {
            match next_step(updates, &mut running, &mut due).await {
                Step::Update((call, partial)) => {
                    self.emit(AgentEvent::ToolExecutionUpdate { call, partial }).await;
                }
                Step::End((at, result)) => {
                    let (Some(call), Some(place)) = (calls.get(at), results.get_mut(at)) else { continue };
                    let result = result.unwrap_or_else(|| Arc::new(self.given_up(call)));
                    let event = ended(call, &result);
                    *place = Some(result);
                    match running.is_empty() {
                        // Nothing runs on before the results are written.
                        true => return self.note(event),
                        false => self.emit(event).await,
                    }
                }
                Step::AllEnded => return,
            }
        }
    }

    /// Writes results, one after the other. Nothing comes in between, so the loop is polled again after the last.
    async fn emit_results(&mut self, results: &[Arc<ToolResult>]) {
        let whole = |result: &Arc<ToolResult>| {
            let message = AgentMessage::ToolResult(result.message.clone());
            [AgentEvent::MessageStart { message: message.clone() }, AgentEvent::MessageEnd { message }]
        };
        if !results.is_empty() {
            self.note_all(results.iter().flat_map(whole));
            self.told().await;
        }
    }

    /// The result of a call that the host's spawner did not bring to its end.
    fn given_up(&self, call: &ToolCall) -> ToolResult {
        made_up_result(call, GIVEN_UP.to_owned(), self.config.clock.timestamp())
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

/// The text of a call that the host's spawner did not bring to its end.
const GIVEN_UP: &str = "The call was given up before its end: what runs the tools has dropped it.";

/// A call that can be executed, with its place in the batch.
type ReadyCall<F> = (usize, Pin<Box<F>>);

/// The result of a call, with its place in the batch; none if the host's spawner did not bring it to its end.
type Ended = (usize, Option<Arc<ToolResult>>);

/// The results of a batch, in the order of the calls.
type Results = SmallVec<[Arc<ToolResult>; FEW]>;

/// A call as a future that can run anywhere. It is boxed at once: what is moved from here on is a pointer.
fn ready_call<M: CustomMessage>(
    batch: &Arc<Batch<M>>,
    at: usize,
    call: &Arc<ToolCall>,
    ready: Ready,
) -> ReadyCall<impl Future<Output = Ended> + Send + use<M>> {
    let (batch, call) = (batch.clone(), call.clone());
    let executing = async move {
        let update = |partial| batch.updates.push(&call, partial);
        (at, Some(batch.execute(&call, ready, &update, 0).await))
    };
    (at, Box::pin(executing))
}

fn ended<M>(call: &Arc<ToolCall>, result: &Arc<ToolResult>) -> AgentEvent<M> {
    AgentEvent::ToolExecutionEnd { call: call.clone(), result: result.clone() }
}

/// The calls that are executed. One alone, as most are, needs no set.
enum InFlight<F> {
    /// All have ended.
    None,
    One(F),
    Many(FuturesUnordered<F>),
}

impl<F: Future<Output = Ended> + Unpin> InFlight<F> {
    fn of(mut running: impl ExactSizeIterator<Item = F>) -> Self {
        match (running.len(), running.next()) {
            (_, None) => Self::None,
            (1, Some(alone)) => Self::One(alone),
            (_, Some(first)) => Self::Many(std::iter::once(first).chain(running).collect()),
        }
    }

    fn is_empty(&self) -> bool {
        match self {
            Self::None => true,
            Self::One(_) => false,
            Self::Many(running) => running.is_empty(),
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

/// A call on the host's threads. Dropping this cancels it: it ends without a result the next time it is polled.
struct Elsewhere {
    at: usize,
    /// Its drop wakes the call.
    ended: Foreign<oneshot::Receiver<Ended>>,
}

impl Elsewhere {
    /// Hands a call to the host's spawner. One that the spawner drops, or that it panics over, is given up.
    fn start(
        spawner: &dyn Spawner,
        at: usize,
        executing: impl Future<Output = Ended> + Send + 'static,
    ) -> Self {
        let (ends, ended) = oneshot::channel();
        // Either side wakes the other one's task when it goes.
        let (mut ends, ended) = (Foreign::new(ends), Foreign::new(ended));
        let running = async move {
            let mut executing = pin!(executing);
            let ended = poll_fn(|cx| match ends.get_mut().map(|ends| ends.poll_canceled(cx)) {
                Some(Poll::Pending) => executing.as_mut().poll(cx).map(Some),
                Some(Poll::Ready(())) | None => Poll::Ready(None),
            });
            if let (Some(ended), Some(ends)) = (ended.await, ends.take()) {
                // Who is not there any more needs no result.
                call_foreign(|| drop(ends.send(ended)));
            }
        };
        call_foreign(|| spawner.spawn(Box::pin(running)));
        Self { at, ended }
    }
}

impl Future for Elsewhere {
    type Output = Ended;

    fn poll(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Ended> {
        self.ended.poll_unpin(cx).map(|ended| ended.unwrap_or((self.at, None)))
    }
}

enum Step {
    Update(Update),
    End(Ended),
    AllEnded,
}

/// What is to be told before the running calls are looked at again.
#[derive(Default)]
struct Due {
    /// So many updates, from the first one on.
    updates: u64,
    /// Then the end of this call.
    end: Option<Ended>,
}

/// The next thing to tell. A call that has ended waits until every update that was pushed before is told, and for none
/// that others push meanwhile.
async fn next_step<F: Future<Output = Ended> + Unpin>(
    updates: &Updates,
    running: &mut InFlight<F>,
    due: &mut Due,
) -> Step {
    poll_fn(|cx| {
        loop {
            if let Some(update) = updates.pop_of(due.updates) {
                return Poll::Ready(Step::Update(update));
            }
            if let Some(ended) = due.end.take() {
                return Poll::Ready(Step::End(ended));
            }
            let polled = running.poll_next(cx);
            due.updates = updates.pushed();
            match polled {
                Poll::Ready(None) => return Poll::Ready(Step::AllEnded),
                Poll::Ready(Some(ended)) => due.end = Some(ended),
                Poll::Pending => {
                    return updates
                        .poll_pop(cx)
                        .map_or(Poll::Pending, |update| Poll::Ready(Step::Update(update)));
                }
            }
        }
    })
    .await
}
