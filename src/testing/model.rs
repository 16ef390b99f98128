//! The scripted model.

use std::collections::VecDeque;
use std::fmt;
use std::future::Future;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll};

use futures_core::Stream;
use futures_util::stream::StreamExt;

use super::gate::quiet_panic;
use super::response::Step;
use super::{GateWait, Response};
use crate::model::{BoxDeltaStream, Delta, Request, StreamFn};

/// A model that answers as it is told, and records what it was asked. Cheap to clone; all clones are one model.
///
/// Asked for more than scripted, it gives a failed answer that says so, and remembers it: a panic in a model's stream
/// would be caught by the loop and look the same. [`assert_exhausted`](Self::assert_exhausted) at the end of a test
/// tells of both kinds of mismatch.
///
/// ```
/// use turnstate::Run;
/// use turnstate::testing::{Response, ScriptedModel, block_on};
///
/// let model = ScriptedModel::new([Response::text("Hi")]);
/// let run = block_on(Run::builder(model.clone()).build().prompt("Hello").finish());
/// assert_eq!(run.transcript().len(), 2);
/// assert_eq!(model.requests()[0].messages.len(), 1);
/// model.assert_exhausted();
/// ```
#[derive(Clone)]
pub struct ScriptedModel(Arc<Inner>);

struct Inner {
    script: Script,
    log: Mutex<Log>,
}

enum Script {
    InOrder,
    Function(Box<dyn Fn(&Request) -> Response + Send + Sync>),
}

#[derive(Default)]
struct Log {
    responses: VecDeque<Response>,
    requests: Vec<Request>,
    /// What is answered when nothing is scripted any more.
    always: Option<Response>,
    /// How many requests came when nothing was scripted any more.
    unscripted: usize,
}

impl ScriptedModel {
    /// Gives these answers, one for each request, in order.
    #[must_use]
    pub fn new<R: Into<Response>>(responses: impl IntoIterator<Item = R>) -> Self {
        let responses = responses.into_iter().map(Into::into).collect();
        Self::of(Script::InOrder, Log { responses, ..Log::default() })
    }

    /// Answers each request by a function of it.
    #[must_use]
    pub fn from_fn(answer: impl Fn(&Request) -> Response + Send + Sync + 'static) -> Self {
        Self::of(Script::Function(Box::new(answer)), Log::default())
    }

    fn of(script: Script, log: Log) -> Self {
        Self(Arc::new(Inner { script, log: Mutex::new(log) }))
    }

    /// Adds an answer after those that are left.
    pub fn push(&self, response: impl Into<Response>) {
        self.log().responses.push_back(response.into());
    }

    /// Answers with this whenever the scripted answers are used up, instead of failing.
    #[must_use]
    pub fn then_always(self, response: impl Into<Response>) -> Self {
        self.log().always = Some(response.into());
        self
    }

    /// The requests so far, in order. Their messages are shared with the loop, not copied.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.log().requests.clone()
    }

    /// How many scripted answers are left.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.log().responses.len()
    }

    /// Asserts that every scripted answer was asked for, and none more.
    ///
    /// # Panics
    /// When answers are left, or there were more requests than answers.
    #[track_caller]
    pub fn assert_exhausted(&self) {
        let (asked, left, unscripted) = {
            let log = self.log();
            (log.requests.len(), log.responses.len(), log.unscripted)
        };
        assert!(unscripted == 0, "the model was asked {asked} times: {unscripted} more than it has answers");
        assert!(left == 0, "the model was asked {asked} times: {left} answers are left");
    }

    fn log(&self) -> MutexGuard<'_, Log> {
        self.0.log.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StreamFn for ScriptedModel {
    fn stream(&self, request: Request) -> BoxDeltaStream {
        let response = match &self.0.script {
            Script::Function(answer) => answer(&request),
            Script::InOrder => {
                let mut log = self.log();
                let next = log.responses.pop_front().or_else(|| log.always.clone());
                next.unwrap_or_else(|| {
                    log.unscripted += 1;
                    let number = log.requests.len() + 1;
                    Response::error(format!(
                        "request {number} to the scripted model, which has no answer left"
                    ))
                })
            }
        };
        self.log().requests.push(request);
        ScriptedStream { steps: response.into_steps().into(), waiting: None }.boxed()
    }
}

impl fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let log = self.log();
        f.debug_struct("ScriptedModel")
            .field("requests", &log.requests.len())
            .field("remaining", &log.responses.len())
            .finish()
    }
}

/// An answer as it streams.
struct ScriptedStream {
    steps: VecDeque<Step>,
    waiting: Option<GateWait>,
}

impl Stream for ScriptedStream {
    type Item = Delta;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<Delta>> {
        loop {
            if let Some(waiting) = &mut self.waiting {
                if Pin::new(waiting).poll(cx).is_pending() {
                    return Poll::Pending;
                }
                self.waiting = None;
            }
            match self.steps.pop_front() {
                None => return Poll::Ready(None),
                Some(Step::Give(delta)) => return Poll::Ready(Some(delta)),
                Some(Step::Wait(gate)) => self.waiting = Some(gate.wait()),
                Some(Step::Yield) => {
                    cx.waker().wake_by_ref();
                    return Poll::Pending;
                }
                Some(Step::Panic(message)) => quiet_panic(message),
            }
        }
    }
}
