//! Hooks as objects, and the default future that costs nothing.

use std::future::Future;
use std::marker::PhantomData;
use std::pin::Pin;
use std::task::{Context, Poll};

use futures_util::future::BoxFuture;

use super::{
    AfterToolCall, BeforeToolCall, FinishTurn, FinishedTurn, Hook, HookContext, PrepareNextTurn,
    PrepareRequest,
};
use crate::message::{CustomMessage, ToolCall};
use crate::model::{ApiKey, ModelError};
use crate::tool::ToolOutput;
use crate::transcript::{Messages, Transcript};

pub(crate) type KeyAnswer = Result<Option<ApiKey>, ModelError>;

/// The future of a hook method that is not written: ready at once with the answer that changes nothing.
///
/// It has no size, so boxing it allocates nothing.
#[must_use = "futures do nothing unless polled"]
pub(super) struct Unchanged<T>(PhantomData<fn() -> T>);

impl<T> Unchanged<T> {
    pub(super) fn new() -> Self {
        Self(PhantomData)
    }
}

/// An answer that has a form which changes nothing.
pub(super) trait NoChange {
    /// That form.
    fn no_change() -> Self;
}

impl<T: NoChange> Future for Unchanged<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<T> {
        Poll::Ready(T::no_change())
    }
}

macro_rules! no_change_is_default {
    ($([$($m:ident)?] $answer:ty;)*) => {$(
        impl $(<$m>)? NoChange for $answer {
            fn no_change() -> Self {
                <$answer>::default()
            }
        }
    )*};
}

no_change_is_default! {
    [] ();
    [] BeforeToolCall;
    [] AfterToolCall;
    [] FinishTurn;
    [M] PrepareRequest<M>;
    [M] PrepareNextTurn<M>;
}

impl NoChange for KeyAnswer {
    fn no_change() -> Self {
        Ok(None)
    }
}

/// A [`Hook`] as an object. A default method's future has no size, so only written methods allocate their box.
pub(crate) trait DynHook<M: CustomMessage>: Send + Sync {
    fn transform_context<'a>(
        &'a self,
        context: &'a mut Transcript<M>,
        cx: HookContext<'a, M>,
    ) -> BoxFuture<'a, ()>;
    fn convert<'a>(&'a self, messages: &'a mut Messages, cx: HookContext<'a, M>) -> BoxFuture<'a, ()>;
    fn prepare_request<'a>(&'a self, cx: HookContext<'a, M>) -> BoxFuture<'a, PrepareRequest<M>>;
    fn prepare_next_turn<'a>(
        &'a self,
        turn: &'a FinishedTurn,
        cx: HookContext<'a, M>,
    ) -> BoxFuture<'a, PrepareNextTurn<M>>;
    fn before_tool_call<'a>(
        &'a self,
        call: &'a ToolCall,
        cx: HookContext<'a, M>,
    ) -> BoxFuture<'a, BeforeToolCall>;
    fn after_tool_call<'a>(
        &'a self,
        call: &'a ToolCall,
        output: &'a ToolOutput,
        cx: HookContext<'a, M>,
    ) -> BoxFuture<'a, AfterToolCall>;
    fn finish_turn<'a>(&'a self, turn: &'a FinishedTurn, cx: HookContext<'a, M>)
    -> BoxFuture<'a, FinishTurn>;
    fn api_key<'a>(&'a self, provider: &'a str, cx: HookContext<'a, M>) -> BoxFuture<'a, KeyAnswer>;
}

impl<M: CustomMessage, H: Hook<M>> DynHook<M> for H {
    fn transform_context<'a>(
        &'a self,
        context: &'a mut Transcript<M>,
        cx: HookContext<'a, M>,
    ) -> BoxFuture<'a, ()> {
        Box::pin(Hook::transform_context(self, context, cx))
    }

    fn convert<'a>(&'a self, messages: &'a mut Messages, cx: HookContext<'a, M>) -> BoxFuture<'a, ()> {
        Box::pin(Hook::convert(self, messages, cx))
    }

    fn prepare_request<'a>(&'a self, cx: HookContext<'a, M>) -> BoxFuture<'a, PrepareRequest<M>> {
        Box::pin(Hook::prepare_request(self, cx))
    }

    fn prepare_next_turn<'a>(
        &'a self,
        turn: &'a FinishedTurn,
        cx: HookContext<'a, M>,
    ) -> BoxFuture<'a, PrepareNextTurn<M>> {
        Box::pin(Hook::prepare_next_turn(self, turn, cx))
    }

    fn before_tool_call<'a>(
        &'a self,
        call: &'a ToolCall,
        cx: HookContext<'a, M>,
    ) -> BoxFuture<'a, BeforeToolCall> {
        Box::pin(Hook::before_tool_call(self, call, cx))
    }

    fn after_tool_call<'a>(
        &'a self,
        call: &'a ToolCall,
        output: &'a ToolOutput,
        cx: HookContext<'a, M>,
    ) -> BoxFuture<'a, AfterToolCall> {
        Box::pin(Hook::after_tool_call(self, call, output, cx))
    }

    fn finish_turn<'a>(
        &'a self,
        turn: &'a FinishedTurn,
        cx: HookContext<'a, M>,
    ) -> BoxFuture<'a, FinishTurn> {
        Box::pin(Hook::finish_turn(self, turn, cx))
    }

    fn api_key<'a>(&'a self, provider: &'a str, cx: HookContext<'a, M>) -> BoxFuture<'a, KeyAnswer> {
        Box::pin(Hook::api_key(self, provider, cx))
    }
}
