//! Tools from async closures.

use std::future::Future;
use std::marker::PhantomData;

use super::{AgentTool, Tool, ToolArgs, ToolContext, ToolError, ToolOutput};
use crate::async_fn::{SendAsyncFn2, SharedClosure};

/// A tool from an async closure.
///
/// The argument type gives the schema. The closure returns a `Result`: what is in its `Ok` becomes the result (a text,
/// content blocks, a JSON value, a [`ToolOutput`]), and `?` works with every error. Write `async |args: Args, cx| ..`
/// (`async move` where it captures); a closure that returns a future, `|args, cx| async move { .. }`, is refused
/// with `implementation of AsyncFnOnce is not general enough`, or with `type annotations needed` (do not add the types:
/// then it is `lifetime may not live long enough`). The closure is cloned for each call, so what it captures is `Clone`;
/// shared state goes into an `Arc`, and a bare `Mutex` is refused.
///
/// ```
/// use turnstate::tool::{NoArgs, tool_fn};
///
/// let clock = tool_fn("clock", "Tells the time.", async |_: NoArgs, _| Ok("12:00"));
/// assert_eq!(clock.name(), "clock");
/// ```
#[must_use]
pub fn tool_fn<A, T, F>(name: impl Into<String>, description: impl Into<String>, function: F) -> AgentTool
where
    A: ToolArgs,
    T: Into<ToolOutput> + 'static,
    F: AsyncFnOnce(A, ToolContext<'_>) -> Result<T, ToolError>
        + for<'a> SendAsyncFn2<A, ToolContext<'a>, Result<T, ToolError>>
        + SharedClosure,
{
    AgentTool::new(ToolFn {
        name: name.into(),
        description: description.into(),
        function,
        types: PhantomData,
    })
}

struct ToolFn<A, T, F> {
    name: String,
    description: String,
    function: F,
    types: PhantomData<fn(A) -> T>,
}

impl<A, T, F> Tool for ToolFn<A, T, F>
where
    A: ToolArgs,
    T: Into<ToolOutput> + 'static,
    F: for<'a> SendAsyncFn2<A, ToolContext<'a>, Result<T, ToolError>> + SharedClosure,
{
    type Args = A;

    fn name(&self) -> &str {
        &self.name
    }

    fn description(&self) -> &str {
        &self.description
    }

    fn execute(
        &self,
        args: A,
        cx: ToolContext<'_>,
    ) -> impl Future<Output = Result<ToolOutput, ToolError>> + Send {
        let running = (self.function.clone())(args, cx);
        async move { Ok(running.await?.into()) }
    }
}
