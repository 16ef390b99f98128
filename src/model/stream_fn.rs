//! The model as a function: a request in, a stream of deltas out.

use std::error::Error;
use std::fmt;
use std::marker::PhantomData;
use std::sync::Arc;

use futures_core::Stream;
use futures_core::stream::BoxStream;
use futures_util::future::Either;
use futures_util::stream::{self, StreamExt};

use super::{Delta, Request};
use crate::async_fn::{SendAsyncFn1, SharedClosure};

/// A boxed stream of deltas.
pub type BoxDeltaStream = BoxStream<'static, Delta>;

/// A model: takes a request, gives the stream of its answer.
///
/// It does not fail: what goes wrong before or during the answer is a [`Delta::Error`]. The loop ends an answer whose
/// stream ends without a terminal delta, sends a malformed one, or panics, as a failed answer. It drops the stream when
/// the run is aborted, and polls it no further after a terminal delta.
///
/// Write one with [`stream_fn`], or give a closure `|request: Request| -> impl Stream<Item = Delta>`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a model",
    label = "not a model",
    note = "use `stream_fn(async |request| ..)`, or a closure `|request: Request| ..` that returns a stream of `Delta`"
)]
pub trait StreamFn: Send + Sync + 'static {
    /// Starts an answer. Called once for each request, never after an abort.
    fn stream(&self, request: Request) -> BoxDeltaStream;
}

impl<T: StreamFn + ?Sized> StreamFn for Arc<T> {
    fn stream(&self, request: Request) -> BoxDeltaStream {
        (**self).stream(request)
    }
}

#[diagnostic::do_not_recommend]
impl<F, S> StreamFn for F
where
    F: Fn(Request) -> S + Send + Sync + 'static,
    S: DeltaStream,
{
    fn stream(&self, request: Request) -> BoxDeltaStream {
        self(request).boxed()
    }
}

/// A stream of [`Delta`]s that can be sent to another thread.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not a stream of deltas",
    label = "expected a `Stream<Item = Delta> + Send + 'static`",
    note = "for a model that needs `.await` before it can stream, use `stream_fn(async |request| ..)`"
)]
pub trait DeltaStream: Stream<Item = Delta> + Send + 'static {}

#[diagnostic::do_not_recommend]
impl<S: Stream<Item = Delta> + Send + 'static> DeltaStream for S {}

/// A model from an async closure that connects and then gives the stream of the answer.
///
/// The closure may fail, and `?` works in it: the failure becomes a failed answer with its text.
/// Write `async |request| ..` (not `|request| async ..`). The closure is cloned for each request, so what it captures
/// is `Clone`; shared state goes into an [`Arc`].
///
/// ```
/// use turnstate::message::StopReason;
/// use turnstate::model::{Delta, stream_fn};
///
/// let model = stream_fn(async |request| {
///     let heard = format!("I got {} messages.", request.messages.len());
///     Ok(futures::stream::iter([
///         Delta::Start,
///         Delta::TextStart { index: 0 },
///         Delta::text(0, heard),
///         Delta::done(StopReason::Stop),
///     ]))
/// });
/// # let _ = model;
/// ```
pub fn stream_fn<F, S>(connect: F) -> StreamFnAdapter<F, S>
where
    F: AsyncFnOnce(Request) -> Result<S, ModelError>
        + SendAsyncFn1<Request, Result<S, ModelError>>
        + SharedClosure,
    S: DeltaStream,
{
    StreamFnAdapter { connect, stream: PhantomData }
}

/// The model that [`stream_fn`] makes.
pub struct StreamFnAdapter<F, S> {
    connect: F,
    stream: PhantomData<fn() -> S>,
}

impl<F: Clone, S> Clone for StreamFnAdapter<F, S> {
    fn clone(&self) -> Self {
        Self { connect: self.connect.clone(), stream: PhantomData }
    }
}

impl<F, S> fmt::Debug for StreamFnAdapter<F, S> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_tuple("StreamFnAdapter").field(&std::any::type_name::<F>()).finish()
    }
}

impl<F, S> StreamFn for StreamFnAdapter<F, S>
where
    F: SendAsyncFn1<Request, Result<S, ModelError>> + SharedClosure,
    <F as SendAsyncFn1<Request, Result<S, ModelError>>>::Fut: 'static,
    S: DeltaStream,
{
    fn stream(&self, request: Request) -> BoxDeltaStream {
        let connecting = (self.connect.clone())(request);
        stream::once(connecting)
            .flat_map(|connected| match connected {
                Ok(deltas) => Either::Left(deltas),
                Err(error) => Either::Right(stream::iter([Delta::error(error.to_string())])),
            })
            .boxed()
    }
}

/// Why a model could not be asked.
///
/// Made from any error, and from texts, by `?` or `into()`; it is not an error itself, so that this works for all of
/// them. Its text, with the texts of the errors behind it, becomes the failed answer's error message: keep secrets out.
pub struct ModelError(Box<dyn Error + Send + Sync>);

impl ModelError {
    /// The error behind it.
    #[must_use]
    pub fn into_inner(self) -> Box<dyn Error + Send + Sync> {
        self.0
    }
}

impl<E: Into<Box<dyn Error + Send + Sync>>> From<E> for ModelError {
    fn from(error: E) -> Self {
        Self(error.into())
    }
}

impl fmt::Display for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        crate::error_text::write_chain(&*self.0, f)
    }
}

impl fmt::Debug for ModelError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        fmt::Debug::fmt(&self.0, f)
    }
}
