//! The guide's example, so that what it shows is what comes out.

use std::collections::HashSet;
use std::sync::Mutex;

use proptest::test_runner::{Config, RngAlgorithm, TestRng, TestRunner};
use turnstate::CustomMessage;
use turnstate::hook::{BeforeToolCall, Hook, HookContext};
use turnstate::message::ToolCall;
use turnstate::testing::scenario::ToolPlan;
use turnstate::testing::strategy::Scenarios;

/// Asks a person who says yes once; remembers what was approved by the id of the call, which is the bug, or by the call.
struct AskFirst {
    by_id: bool,
    asked: Mutex<usize>,
    approved: Mutex<HashSet<String>>,
}

impl<M: CustomMessage> Hook<M> for AskFirst {
    async fn before_tool_call(&self, call: &ToolCall, _: HookContext<'_, M>) -> BeforeToolCall {
        let known = self.by_id && self.approved.lock().unwrap().contains(&call.id);
        if known {
            return BeforeToolCall::Allow;
        }
        let mut asked = self.asked.lock().unwrap();
        *asked += 1;
        if *asked > 1 {
            return BeforeToolCall::block("The person said no.");
        }
        self.approved.lock().unwrap().insert(call.id.clone());
        BeforeToolCall::Allow
    }
}

fn nothing_runs_without_a_yes(by_id: bool) -> Result<(), String> {
    let config =
        Config { cases: 2000, max_shrink_iters: 100_000, failure_persistence: None, ..Config::default() };
    let mut runner = TestRunner::new_with_rng(config, TestRng::deterministic_rng(RngAlgorithm::ChaCha));
    let scenarios = Scenarios::new().without_hooks().with_tools([ToolPlan::new("write")]).strategy();
    let checked = runner.run(&scenarios, |scenario| {
        let hook = AskFirst { by_id, asked: Mutex::default(), approved: Mutex::default() };
        let played = scenario.play_with(|builder| builder.hook(hook));
        let runs = played.executions.len();
        proptest::prop_assert!(runs <= 1, "it ran {runs} times\n{}", played.trace);
        Ok(())
    });
    checked.map_err(|failure| failure.to_string())
}

#[test]
fn the_guides_planted_bug_is_found_and_shrunk_to_what_the_guide_shows() {
    let failure = nothing_runs_without_a_yes(true).unwrap_err();
    let guide = include_str!("../../src/docs/property_tests.md");
    for line in failure.lines().filter(|line| !line.trim().is_empty() && !line.contains("guide.rs")) {
        assert!(guide.contains(line.trim_end()), "the guide does not show `{line}` of:\n{failure}");
    }
}

#[test]
fn the_guides_hook_without_the_bug_passes() {
    nothing_runs_without_a_yes(false).unwrap();
}
