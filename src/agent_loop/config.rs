//! What a loop is given: the model, the tools, the hooks, and everything else that stays for one run.

use std::collections::HashMap;
use std::fmt;
use std::sync::Arc;

use futures_util::future::BoxFuture;

use super::turn_change::TurnChange;
use crate::clock::{Clock, SystemClock};
use crate::hook::Hooks;
use crate::message::{AgentMessage, AssistantMessage, NoCustom, ThinkingLevel, ToolDeclaration};
use crate::model::{ApiKey, Model, RequestOptions, StreamFn};
use crate::tool::{AgentTool, ExecutionMode};
use crate::transcript::Repair;

/// What a loop is given. Cheap to clone: everything large is shared.
///
/// Fields are public, so that a host of the stateless layer sets what it needs: `let mut config =
/// LoopConfig::new(model_stream); config.tools = ..;`. Where a [`Run`](crate::Run) is used instead, the setters of
/// [`RunBuilder`](crate::RunBuilder) do it.
#[non_exhaustive]
pub struct LoopConfig<M = NoCustom> {
    /// The model as a function.
    pub stream: Arc<dyn StreamFn>,
    /// Which model is asked.
    pub model: Arc<Model>,
    /// How much it is asked to think.
    pub thinking_level: ThinkingLevel,
    /// What else each request carries.
    pub options: Arc<RequestOptions>,
    /// The key, where no hook gives one.
    pub api_key: Option<ApiKey>,
    /// The tools.
    pub tools: Tools,
    /// Whether calls of a batch run at the same time.
    pub tool_execution: ExecutionMode,
    /// The hooks, in order.
    pub hooks: Hooks<M>,
    /// Whether requests are repaired.
    pub repair: Repair,
    /// Where steers and follow-ups come from.
    pub messages: Arc<dyn MessageSource<M>>,
    /// The clocks.
    pub clock: Arc<dyn Clock>,
    /// Where tools run, if not where the run is polled.
    pub spawner: Option<Arc<dyn Spawner>>,
}

impl<M: 'static> LoopConfig<M> {
    /// A configuration with a model and defaults: no tools, no hooks, no queues, the system's clocks.
    #[must_use]
    pub fn new(stream: impl StreamFn) -> Self {
        Self {
            stream: Arc::new(stream),
            model: Arc::default(),
            thinking_level: ThinkingLevel::Off,
            options: Arc::default(),
            api_key: None,
            tools: Tools::default(),
            tool_execution: ExecutionMode::Parallel,
            hooks: Hooks::default(),
            repair: Repair::On,
            messages: Arc::new(NoMessages),
            clock: Arc::new(SystemClock::new()),
            spawner: None,
        }
    }
}

impl<M> LoopConfig<M> {
    /// What an answer of this moment says beside its content.
    pub(crate) fn head(&self) -> AssistantMessage {
        let mut head = AssistantMessage::default();
        head.api.clone_from(&self.model.api);
        head.provider.clone_from(&self.model.provider);
        head.model.clone_from(&self.model.id);
        head.thinking_level = Some(self.thinking_level);
        head.timestamp = self.clock.timestamp();
        head
    }
}

impl<M> Clone for LoopConfig<M> {
    fn clone(&self) -> Self {
        Self {
            stream: self.stream.clone(),
            model: self.model.clone(),
            thinking_level: self.thinking_level,
            options: self.options.clone(),
            api_key: self.api_key.clone(),
            tools: self.tools.clone(),
            tool_execution: self.tool_execution,
            hooks: self.hooks.clone(),
            repair: self.repair,
            messages: self.messages.clone(),
            clock: self.clock.clone(),
            spawner: self.spawner.clone(),
        }
    }
}

impl<M> fmt::Debug for LoopConfig<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("LoopConfig")
            .field("model", &self.model)
            .field("thinking_level", &self.thinking_level)
            .field("api_key", &self.api_key)
            .field("tools", &self.tools)
            .field("tool_execution", &self.tool_execution)
            .field("hooks", &self.hooks)
            .field("repair", &self.repair)
            .finish_non_exhaustive()
    }
}

/// Where a loop takes steers, follow-ups and changes from: the queues of a [`Run`](crate::Run), or a host's own, in
/// the stateless layer.
///
/// The loop asks at fixed points and writes what it gets before it asks again.
pub trait MessageSource<M>: Send + Sync + 'static {
    /// The messages to put in before the next request; none if there are none.
    fn take_steering(&self) -> Vec<AgentMessage<M>>;

    /// The messages to put in instead of ending; none if there are none.
    fn take_follow_ups(&self) -> Vec<AgentMessage<M>>;

    /// The last `count` messages of what was last taken were not written, since the run ended before: they belong back
    /// at the head of their queue.
    fn give_back(&self, count: usize);

    /// Whether any message waits. The loop asks it only to tell the hooks whether the run goes on; a source that cannot
    /// say keeps to `false`.
    fn has_messages(&self) -> bool {
        false
    }

    /// What is to change from the next turn on. Asked between two turns, before the hooks prepare; not after an abort.
    fn take_change(&self) -> TurnChange {
        TurnChange::default()
    }
}

/// A source that never has anything.
#[derive(Debug, Clone, Copy, Default)]
#[non_exhaustive]
pub struct NoMessages;

impl<M> MessageSource<M> for NoMessages {
    fn take_steering(&self) -> Vec<AgentMessage<M>> {
        Vec::new()
    }

    fn take_follow_ups(&self) -> Vec<AgentMessage<M>> {
        Vec::new()
    }

    fn give_back(&self, _: usize) {}
}

/// Runs tools on the host's own threads. Without one, tools run where the run is polled, and nothing is spawned.
///
/// Each call of a batch is one future, with its tool and its after-hooks; what it tells reaches the run wherever it is
/// polled. A call that the spawner drops before its end has an error result that says so.
///
/// Any function will do: `.spawner(move |future| { handle.spawn(future); })` with a runtime's handle. The guide
/// [runtimes](crate::guide::runtimes) says when it is worth it.
pub trait Spawner: Send + Sync + 'static {
    /// Runs a future to its end. It must not block until then. One that is neither polled nor dropped holds its run up,
    /// also after an abort, until the run is cancelled or dropped.
    ///
    /// When the run is dropped or cancelled the future ends by itself the next time it is polled, and it is woken for
    /// it; a tool that blocks its thread is not interrupted.
    fn spawn(&self, future: BoxFuture<'static, ()>);
}

impl<F: Fn(BoxFuture<'static, ()>) + Send + Sync + 'static> Spawner for F {
    fn spawn(&self, future: BoxFuture<'static, ()>) {
        self(future);
    }
}

/// The tools of a run, found by name. Cheap to clone.
#[derive(Clone, Default)]
pub struct Tools(Arc<ToolSet>);

/// So many tools are looked through sooner than a name is hashed.
const FEW_TOOLS: usize = 8;

#[derive(Default)]
struct ToolSet {
    list: Vec<AgentTool>,
    declarations: Vec<Arc<ToolDeclaration>>,
    by_name: HashMap<String, usize>,
    any_sequential: bool,
}

impl Tools {
    /// Tools in this order. Of several with one name the last counts, in the place of the first.
    #[must_use]
    pub fn new(tools: impl IntoIterator<Item = AgentTool>) -> Self {
        let mut set = ToolSet::default();
        for tool in tools {
            match set.by_name.get(tool.name()).copied().and_then(|at| set.list.get_mut(at)) {
                Some(known) => *known = tool,
                None => {
                    set.by_name.insert(tool.name().to_owned(), set.list.len());
                    set.list.push(tool);
                }
            }
        }
        set.any_sequential = set.list.iter().any(|tool| tool.execution_mode() == ExecutionMode::Sequential);
        set.declarations = set.list.iter().map(|tool| tool.declaration().clone()).collect();
        Self(Arc::new(set))
    }

    /// The tools, in order.
    #[must_use]
    pub fn as_slice(&self) -> &[AgentTool] {
        &self.0.list
    }

    /// The tool of this name.
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&AgentTool> {
        if self.0.list.len() <= FEW_TOOLS {
            return self.0.list.iter().find(|tool| tool.name() == name);
        }
        self.0.by_name.get(name).and_then(|at| self.0.list.get(*at))
    }

    /// How calls of the tool of this name run. Where no tool is sequential, none is looked for.
    pub(super) fn execution_mode(&self, name: &str) -> ExecutionMode {
        match self.0.any_sequential {
            true => self.get(name).map_or(ExecutionMode::Parallel, AgentTool::execution_mode),
            false => ExecutionMode::Parallel,
        }
    }

    /// What the model is told of them, in order.
    #[must_use]
    pub fn declarations(&self) -> &[Arc<ToolDeclaration>] {
        &self.0.declarations
    }
}

impl FromIterator<AgentTool> for Tools {
    fn from_iter<I: IntoIterator<Item = AgentTool>>(tools: I) -> Self {
        Self::new(tools)
    }
}

impl From<Vec<AgentTool>> for Tools {
    fn from(tools: Vec<AgentTool>) -> Self {
        Self::new(tools)
    }
}

impl fmt::Debug for Tools {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_list().entries(self.0.list.iter().map(AgentTool::name)).finish()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::tool::{Tool, ToolContext, ToolError, ToolOutput};

    /// A tool that has nothing but its name and mode.
    struct Named(String, ExecutionMode);

    impl Tool for Named {
        type Args = crate::tool::NoArgs;

        fn name(&self) -> &str {
            &self.0
        }

        fn description(&self) -> &str {
            "Does nothing."
        }

        fn execution_mode(&self) -> ExecutionMode {
            self.1
        }

        async fn execute(&self, _: Self::Args, _: ToolContext<'_>) -> Result<ToolOutput, ToolError> {
            Ok(ToolOutput::text("done"))
        }
    }

    fn named(at: usize, mode: ExecutionMode) -> AgentTool {
        AgentTool::new(Named(format!("tool_{at}"), mode))
    }

    #[test]
    fn few_or_many_tools_are_found_by_their_names_and_the_last_of_a_name_counts() {
        for count in 0..=2 * FEW_TOOLS {
            let first = (0..count).map(|at| named(at, ExecutionMode::Parallel));
            let again = (count > 1).then(|| named(1, ExecutionMode::Sequential));
            let tools = Tools::new(first.chain(again));
            assert_eq!(tools.as_slice().len(), count);
            assert!(tools.get("tool").is_none());
            for at in 0..count {
                let (name, sequential) = (format!("tool_{at}"), at == 1);
                assert_eq!(tools.get(&name).map(AgentTool::name), Some(name.as_str()), "of {count}");
                let mode = if sequential { ExecutionMode::Sequential } else { ExecutionMode::Parallel };
                assert_eq!(tools.execution_mode(&name), mode, "{name} of {count}");
            }
            assert_eq!(tools.execution_mode("no such tool"), ExecutionMode::Parallel);
        }
    }
}
