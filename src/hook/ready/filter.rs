//! Which tools may be called.

use std::collections::BTreeSet;

use crate::hook::{BeforeToolCall, Hook, HookContext};
use crate::message::{CustomMessage, ToolCall};

/// Lets a run call only some tools: those of a list, or all but those of a list.
///
/// A call of another tool is not run; the model reads why. Calls that a tool makes itself are held to it as well. The
/// model is still told of every tool of the run: to hide one, do not give it to the run.
///
/// ```
/// # futures::executor::block_on(async {
/// # use turnstate::{message::{AssistantMessage, StopReason}, model::{Delta, Request}, tool::{NoArgs, tool_fn}};
/// # let model = |request: Request| match request.messages.last().map(|message| message.role()) {
/// #     Some("user") => futures::stream::iter(vec![
/// #         Delta::tool_call_start(0, "c", "delete"), Delta::tool_call(0, "{}"), Delta::done(StopReason::ToolUse),
/// #     ]),
/// #     _ => futures::stream::iter(vec![Delta::whole(AssistantMessage::text("I cannot."))]),
/// # };
/// # let delete = tool_fn("delete", "Deletes everything.", async |_: NoArgs, _| Ok("gone"));
/// # let read = tool_fn("read", "Reads.", async |_: NoArgs, _| Ok("text"));
/// use turnstate::Run;
/// use turnstate::hook::ToolFilter;
///
/// let run = Run::builder(model).tool(read).tool(delete).hook(ToolFilter::allow(["read"])).build();
/// let run = run.prompt("Delete everything.").finish().await;
/// let result = run.transcript().iter().find_map(|message| message.as_tool_result()).unwrap();
/// assert_eq!(
///     result.texts().collect::<String>(),
///     "Tool `delete` may not be called here. The tools that may be called are: `read`."
/// );
/// # });
/// ```
#[derive(Debug, Clone)]
pub struct ToolFilter {
    names: BTreeSet<String>,
    listed_are: Listed,
}

#[derive(Debug, Clone, Copy)]
enum Listed {
    Allowed,
    Denied,
}

impl ToolFilter {
    /// Only these tools may be called.
    #[must_use]
    pub fn allow<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        Self { names: names.into_iter().map(Into::into).collect(), listed_are: Listed::Allowed }
    }

    /// All tools but these may be called.
    #[must_use]
    pub fn deny<N: Into<String>>(names: impl IntoIterator<Item = N>) -> Self {
        Self { names: names.into_iter().map(Into::into).collect(), listed_are: Listed::Denied }
    }

    fn refusal(&self, name: &str) -> Option<String> {
        let listed = self.names.contains(name);
        match self.listed_are {
            Listed::Denied if listed => Some(format!("Tool `{name}` may not be called here.")),
            Listed::Allowed if !listed && self.names.is_empty() => {
                Some(format!("Tool `{name}` may not be called here. No tool may."))
            }
            Listed::Allowed if !listed => {
                let names: Vec<_> = self.names.iter().map(|name| format!("`{name}`")).collect();
                let names = names.join(", ");
                Some(format!(
                    "Tool `{name}` may not be called here. The tools that may be called are: {names}."
                ))
            }
            _ => None,
        }
    }
}

impl<M: CustomMessage> Hook<M> for ToolFilter {
    async fn before_tool_call(&self, call: &ToolCall, _: HookContext<'_, M>) -> BeforeToolCall {
        self.refusal(&call.name).map_or(BeforeToolCall::Allow, BeforeToolCall::block)
    }
}
