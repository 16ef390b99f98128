//! A panic anywhere ends the run with a complete event sequence, and the agent goes on.

use std::pin::Pin;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::task::{Context, Poll};

use futures::executor::block_on;
use futures::stream::Stream;
use turnstate::message::{AgentMessage, UserMessage};
use turnstate::model::{Delta, Request};
use turnstate::{Agent, CustomMessage, Ending, Run};

use crate::support::*;

/// A message whose projection panics while it is armed.
#[derive(Debug, Clone, CustomMessage)]
enum Trap {
    #[message(role = "trap", project = spring)]
    Trap {
        #[serde(skip)]
        armed: Arc<AtomicBool>,
    },
}

fn spring(trap: &Trap) -> UserMessage {
    let Trap::Trap { armed } = trap;
    assert!(!armed.load(Ordering::SeqCst), "the trap sprang");
    UserMessage::new("a trap")
}

#[test]
fn a_projection_that_panics_on_a_loaded_transcript_fails_the_run_and_not_the_prompt() {
    let armed = Arc::new(AtomicBool::new(true));
    let run = Run::builder(Model::new([text("fine")]))
        .custom_messages::<Trap>()
        .transcript(vec![AgentMessage::Custom(Arc::new(Trap::Trap { armed: armed.clone() }))])
        .build();
    let agent = Agent::new(run);
    let log = Log::new();
    let _subscription = log.listen(&agent);
    let outcome = block_on(agent.prompt("Hi").unwrap());
    assert_eq!(outcome.ending, Ending::Failed { message: "the trap sprang".to_owned() });
    assert_eq!(texts(&outcome.added), ["user: Hi", "failed: the trap sprang"]);
    assert_eq!(
        log.take().join(" "),
        "agent_start turn_start message_start message_end message_start message_end turn_end agent_end"
    );
    armed.store(false, Ordering::SeqCst);
    let outcome = block_on(agent.resume().unwrap());
    assert_eq!(texts(&outcome.added), ["assistant: fine"]);
}

#[test]
fn a_prompt_that_was_not_yet_written_is_kept_when_its_run_is_dropped() {
    let run = run([text("fine")]);
    let mut run = run.prompt("Hi");
    block_on(run.next());
    let run = run.cancel();
    assert_eq!(texts(run.transcript()), ["user: Hi", "aborted: Request was aborted"]);
}

/// A stream that never says anything, and panics when it is dropped.
struct PanicsInDrop;

impl Stream for PanicsInDrop {
    type Item = Delta;

    fn poll_next(self: Pin<&mut Self>, _: &mut Context<'_>) -> Poll<Option<Delta>> {
        Poll::Pending
    }
}

impl Drop for PanicsInDrop {
    fn drop(&mut self) {
        panic!("dropped");
    }
}

#[test]
fn a_model_stream_that_panics_in_its_drop_neither_escapes_nor_keeps_the_agent_busy() {
    let agent = Agent::new(Run::builder(|_: Request| PanicsInDrop).build());
    let mut running = agent.prompt("Hi").unwrap();
    assert!(settle(&mut running).is_none());
    agent.abort();
    let outcome = settle(&mut running).unwrap();
    assert_eq!(outcome.ending, Ending::Aborted);
    let mut running = agent.prompt("Again").unwrap();
    assert!(settle(&mut running).is_none());
    drop(running);
    assert!(agent.is_idle());
    assert_eq!(agent.state().outcome().unwrap().ending, Ending::Aborted);
}
