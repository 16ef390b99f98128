//! A tool, a hook or a listener that turns to its own agent is answered, and never waits for itself.

use std::sync::{Arc, Mutex, OnceLock};

use futures::future::BoxFuture;
use turnstate::agent::WeakAgent;
use turnstate::hook::{BeforeToolCall, FinishTurn};
use turnstate::testing::block_on;
use turnstate::tool::{NoArgs, tool_fn};
use turnstate::{Agent, Run};

use crate::support::*;

/// What the agent says to a prompt and to a wait.
async fn ask(own: &OnceLock<WeakAgent>) -> String {
    let agent = own.get().unwrap().upgrade().unwrap();
    let prompt = agent.prompt("nested").map(drop).map_err(|busy| busy.to_string());
    let wait = agent.wait_for_idle().await.map_err(|inside| inside.to_string());
    assert!(wait.is_err());
    prompt.unwrap_err()
}

type Said = Arc<Mutex<Vec<String>>>;

/// Asks the agent, and notes what it said.
fn telling(
    own: &Arc<OnceLock<WeakAgent>>,
    said: &Said,
) -> impl Fn() -> BoxFuture<'static, ()> + Clone + Send + Sync + 'static + use<> {
    let (own, said) = (own.clone(), said.clone());
    move || {
        let (own, said) = (own.clone(), said.clone());
        Box::pin(async move {
            let answer = ask(&own).await;
            said.lock().unwrap().push(answer);
        })
    }
}

#[test]
fn a_prompt_from_inside_a_run_is_busy_and_a_wait_is_refused_wherever_it_comes_from() {
    let (own, said): (Arc<OnceLock<WeakAgent>>, Said) = Default::default();
    let tell = telling(&own, &said);
    let (in_tool, in_before, in_finish, in_listener) = (tell.clone(), tell.clone(), tell.clone(), tell);
    let run = Run::builder(batch(&[("a", "ask")]))
        .tool(tool_fn("ask", "", async move |_: NoArgs, _| {
            in_tool().await;
            Ok("asked")
        }))
        .before_tool_call(async move |_, _| {
            in_before().await;
            BeforeToolCall::Allow
        })
        .finish_turn(async move |_, _| {
            in_finish().await;
            FinishTurn::Default
        })
        .build();
    let agent = Agent::new(run);
    own.set(agent.downgrade()).unwrap();
    agent
        .subscribe(async move |event, _| {
            if event.kind() == "agent_end" {
                in_listener().await;
            }
        })
        .keep();
    let outcome = block_on(agent.prompt("go").unwrap());
    assert_eq!(
        story(&outcome.added),
        ["user: go", "assistant: [a ask]", "result a: asked", "assistant: done"]
    );
    let busy = turnstate::Busy.to_string();
    assert_eq!(*said.lock().unwrap(), [busy.clone(), busy.clone(), busy.clone(), busy.clone(), busy]);
    assert!(block_on(agent.prompt("on").unwrap()).is_success());
}
