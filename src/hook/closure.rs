//! Hooks from async closures.

use std::fmt;

use super::erased::KeyAnswer;
use super::{
    AfterToolCall, BeforeToolCall, FinishTurn, FinishedTurn, Hook, HookContext, PrepareNextTurn,
    PrepareRequest,
};
use crate::async_fn::{SendAsyncFn1, SendAsyncFn2, SendAsyncFn3, SharedClosure};
use crate::message::{CustomMessage, ToolCall};
use crate::tool::ToolOutput;
use crate::transcript::{Messages, Transcript};

macro_rules! closure_hook {
    ($(
        $name:ident: fn $method:ident<$m:ident>($($arg:ident: $ty:ty),*) -> $answer:ty
            where [$($bound:tt)*];
    )*) => {$(
        pub(crate) struct $name<F>(pub(crate) F);

        impl<$m: CustomMessage, F: SharedClosure> Hook<$m> for $name<F>
        where
            F: $($bound)*,
        {
            async fn $method(&self, $($arg: $ty),*) -> $answer {
                (self.0.clone())($($arg),*).await
            }
        }

        impl<F> fmt::Debug for $name<F> {
            fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.debug_tuple(stringify!($name)).field(&std::any::type_name::<F>()).finish()
            }
        }
    )*};
}
closure_hook! {
    TransformContextFn: fn transform_context<M>(context: &mut Transcript<M>, cx: HookContext<'_, M>) -> ()
        where [for<'a> SendAsyncFn2<&'a mut Transcript<M>, HookContext<'a, M>, ()>];
    ConvertFn: fn convert<M>(messages: &mut Messages, cx: HookContext<'_, M>) -> ()
        where [for<'a> SendAsyncFn2<&'a mut Messages, HookContext<'a, M>, ()>];
    PrepareRequestFn: fn prepare_request<M>(cx: HookContext<'_, M>) -> PrepareRequest<M>
        where [for<'a> SendAsyncFn1<HookContext<'a, M>, PrepareRequest<M>>];
    PrepareNextTurnFn: fn prepare_next_turn<M>(turn: &FinishedTurn, cx: HookContext<'_, M>) -> PrepareNextTurn<M>
        where [for<'a> SendAsyncFn2<&'a FinishedTurn, HookContext<'a, M>, PrepareNextTurn<M>>];
    BeforeToolCallFn: fn before_tool_call<M>(call: &ToolCall, cx: HookContext<'_, M>) -> BeforeToolCall
        where [for<'a> SendAsyncFn2<&'a ToolCall, HookContext<'a, M>, BeforeToolCall>];
    AfterToolCallFn: fn after_tool_call<M>(call: &ToolCall, output: &ToolOutput, cx: HookContext<'_, M>) -> AfterToolCall
        where [for<'a> SendAsyncFn3<&'a ToolCall, &'a ToolOutput, HookContext<'a, M>, AfterToolCall>];
    FinishTurnFn: fn finish_turn<M>(turn: &FinishedTurn, cx: HookContext<'_, M>) -> FinishTurn
        where [for<'a> SendAsyncFn2<&'a FinishedTurn, HookContext<'a, M>, FinishTurn>];
    ApiKeyFn: fn api_key<M>(provider: &str, cx: HookContext<'_, M>) -> KeyAnswer
        where [for<'a> SendAsyncFn2<&'a str, HookContext<'a, M>, KeyAnswer>];
}
