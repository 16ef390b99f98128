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
pub struct ScriptedModel(Arc<Mutex<Script>>);

type AnswerFn = Arc<dyn Fn(&Request) -> Response + Send + Sync>;

#[derive(Default)]
struct Script {
    /// What is answered first, in order.
    responses: VecDeque<Response>,
    /// What answers whenever these are used up.
    otherwise: Option<AnswerFn>,
    requests: Vec<Request>,
    /// How many requests nothing was there to answer.
    unscripted: usize,
}

impl ScriptedModel {
    /// Gives these answers, one for each request, in order.
    #[must_use]
    pub fn new<R: Into<Response>>(responses: impl IntoIterator<Item = R>) -> Self {
        let responses = responses.into_iter().map(Into::into).collect();
        Self(Arc::new(Mutex::new(Script { responses, ..Script::default() })))
    }

    /// Answers each request by a function of it.
    #[must_use]
    pub fn from_fn(answer: impl Fn(&Request) -> Response + Send + Sync + 'static) -> Self {
        Self(Arc::new(Mutex::new(Script { otherwise: Some(Arc::new(answer)), ..Script::default() })))
    }

    /// Adds an answer after those that are left. It comes before what a function or [`then_always`](Self::then_always)
    /// answers.
    pub fn push(&self, response: impl Into<Response>) {
        self.script().responses.push_back(response.into());
    }

    /// Answers with this whenever the scripted answers are used up, instead of failing.
    #[must_use]
    pub fn then_always(self, response: impl Into<Response>) -> Self {
        let response = response.into();
        self.script().otherwise = Some(Arc::new(move |_| response.clone()));
        self
    }

    /// The requests so far, in order. Their messages are shared with the loop, not copied.
    #[must_use]
    pub fn requests(&self) -> Vec<Request> {
        self.script().requests.clone()
    }

    /// How many scripted answers are left.
    #[must_use]
    pub fn remaining(&self) -> usize {
        self.script().responses.len()
    }

    /// Asserts that every scripted answer was asked for, and none more.
    ///
    /// # Panics
    /// When answers are left, or there were more requests than answers.
    #[track_caller]
    pub fn assert_exhausted(&self) {
        let (asked, left, unscripted) = {
            let script = self.script();
            (script.requests.len(), script.responses.len(), script.unscripted)
        };
        assert!(
            unscripted == 0,
            "requests to the scripted model: {asked}, of which it could not answer: {unscripted}"
        );
        assert!(left == 0, "requests to the scripted model: {asked}, answers that are left: {left}");
    }

    /// The answer to a request that nothing is there to answer.
    fn refuse(&self) -> Response {
        let mut script = self.script();
        script.unscripted += 1;
        let number = script.requests.len() + 1;
        Response::error(format!("request {number} to the scripted model, which has no answer left"))
    }

    fn script(&self) -> MutexGuard<'_, Script> {
        self.0.lock().unwrap_or_else(PoisonError::into_inner)
    }
}

impl StreamFn for ScriptedModel {
    fn stream(&self, request: Request) -> BoxDeltaStream {
        let (scripted, otherwise) = {
            let mut script = self.script();
            (script.responses.pop_front(), script.otherwise.clone())
        };
        // The function is the test's, and may ask this model something: it is not called under the lock.
        let response = match (scripted, otherwise) {
            (Some(response), _) => response,
            (None, Some(answer)) => answer(&request),
            (None, None) => self.refuse(),
        };
        self.script().requests.push(request);
        ScriptedStream { steps: response.into_steps().into(), waiting: None }.boxed()
    }
}

impl fmt::Debug for ScriptedModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let script = self.script();
        f.debug_struct("ScriptedModel")
            .field("requests", &script.requests.len())
            .field("remaining", &script.responses.len())
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
