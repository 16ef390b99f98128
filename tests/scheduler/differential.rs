//! The same scenario on other executors: futures' own, tokio on several threads, smol.
//!
//! On the deterministic executor the host acts when nothing can progress. Here it is a task of its own, on another
//! thread where there are several, and is told when the run has come to rest: pending, and not woken. So the order of
//! what happens outside is the same, and so must be the events.

use std::future::poll_fn;
use std::pin::Pin;
use std::sync::{Arc, Mutex, MutexGuard};
use std::task::{Context, Poll, Wake, Waker};

use futures::Stream;
use futures::future::join;
use proptest::prelude::*;
use turnstate::AgentEvent;
use turnstate::message::NoCustom;
use turnstate::testing::scenario::{Director, Scenario};
use turnstate::testing::strategy::Scenarios;
use turnstate::testing::{Checkable, Gates};

use crate::config;

proptest! {
    #![proptest_config(config())]

    #[test]
    fn invariant_10_futures_executor_gives_the_same_events(scenario in undropped()) {
        let expected = events_of(&scenario);
        let (consuming, hosting) = on_stage(&scenario);
        let (events, ()) = futures::executor::block_on(join(consuming, hosting));
        prop_assert_eq!(events, expected);
    }

    #[test]
    fn invariant_10_tokio_on_several_threads_gives_the_same_events(scenario in undropped()) {
        let expected = events_of(&scenario);
        let (consuming, hosting) = on_stage(&scenario);
        let events = tokio().block_on(async {
            let hosting = tokio::spawn(hosting);
            let events = tokio::spawn(consuming).await.unwrap();
            hosting.await.unwrap();
            events
        });
        prop_assert_eq!(events, expected);
    }

    #[test]
    fn invariant_10_smol_gives_the_same_events(scenario in undropped()) {
        let expected = events_of(&scenario);
        let (consuming, hosting) = on_stage(&scenario);
        let events = smol::block_on(async {
            let hosting = smol::spawn(hosting);
            let events = smol::spawn(consuming).await;
            hosting.await;
            events
        });
        prop_assert_eq!(events, expected);
    }
}

fn tokio() -> &'static tokio::runtime::Runtime {
    static RUNTIME: std::sync::OnceLock<tokio::runtime::Runtime> = std::sync::OnceLock::new();
    RUNTIME.get_or_init(|| tokio::runtime::Builder::new_multi_thread().worker_threads(2).build().unwrap())
}

/// Runs that the host does not end by itself, with tools where the run is polled: tasks of their own would come to rest
/// at another time than the run.
fn undropped() -> BoxedStrategy<Scenario> {
    Scenarios::new()
        .without_ends()
        .strategy()
        .prop_map(|mut scenario| {
            scenario.spawned = false;
            scenario
        })
        .boxed()
}

fn events_of(scenario: &Scenario) -> Vec<AgentEvent> {
    scenario.play().trace.events().cloned().collect()
}

/// The two tasks of a scenario: one that reads the run's events, and its host.
fn on_stage(
    scenario: &Scenario,
) -> (impl Future<Output = Vec<AgentEvent>> + Send + 'static, impl Future<Output = ()> + Send + 'static) {
    let stage = scenario.stage();
    let host = Arc::new(Host {
        director: Mutex::new(stage.director),
        gates: stage.gates,
        rest: Mutex::default(),
        stage: Mutex::new(()),
    });
    let mut run = Resting { stream: stage.run.prompt(scenario.prompt.clone()).checked(), host: host.clone() };
    let consumer = host.clone();
    let consuming = async move {
        let mut events = Vec::new();
        loop {
            consumer.moment();
            match poll_fn(|cx| Pin::new(&mut run).poll_next(cx)).await {
                Some(event) => events.push(event),
                None => break,
            }
        }
        consumer.over();
        events
    };
    let hosting = async move { while host.act_when_at_rest().await {} };
    (consuming, hosting)
}

struct Host {
    director: Mutex<Director<NoCustom>>,
    gates: Gates,
    rest: Mutex<Rest>,
    /// Whoever holds it is on: the run while it is polled, or the host while it acts.
    stage: Mutex<()>,
}

#[derive(Default)]
struct Rest {
    /// Whether the run is pending and was not woken.
    rests: bool,
    over: bool,
    waiting: Option<Waker>,
}

impl Host {
    fn rest(&self) -> MutexGuard<'_, Rest> {
        self.rest.lock().unwrap()
    }

    /// What the host does at an event, or after it has acted.
    fn moment(&self) {
        let mut director = self.director.lock().unwrap();
        for action in director.moment() {
            let _ = director.act(action);
        }
    }

    fn over(&self) {
        let mut rest = self.rest();
        rest.over = true;
        rest.waiting.take().into_iter().for_each(Waker::wake);
    }

    /// Waits until the run rests, and does then what the deterministic host does. `false` when the run is over.
    async fn act_when_at_rest(&self) -> bool {
        let rests = poll_fn(|cx| {
            let mut rest = self.rest();
            if rest.over {
                return Poll::Ready(false);
            }
            if rest.rests {
                return Poll::Ready(true);
            }
            rest.waiting = Some(cx.waker().clone());
            Poll::Pending
        });
        if !rests.await {
            return false;
        }
        let _on = self.stage.lock().unwrap();
        let waiting = self.gates.waiting();
        let mut director = self.director.lock().unwrap();
        match director.choose(&waiting) {
            Some(gate) => gate.release(),
            None => {
                let next = director.hurry().expect("the run rests, and nothing is left to do");
                let _ = director.act(next);
            }
        }
        drop(director);
        self.moment();
        true
    }
}

/// Tells the host when the stream comes to rest.
struct Resting<S> {
    stream: S,
    host: Arc<Host>,
}

/// The waker of a stream that may rest.
struct Rouse {
    host: Arc<Host>,
    woken: Mutex<bool>,
    outer: Waker,
}

impl Wake for Rouse {
    fn wake(self: Arc<Self>) {
        *self.woken.lock().unwrap() = true;
        self.host.rest().rests = false;
        self.outer.wake_by_ref();
    }
}

impl<S: Stream + Unpin> Stream for Resting<S> {
    type Item = S::Item;

    fn poll_next(mut self: Pin<&mut Self>, cx: &mut Context<'_>) -> Poll<Option<S::Item>> {
        let host = self.host.clone();
        let _on = host.stage.lock().unwrap();
        host.rest().rests = false;
        let rouse =
            Arc::new(Rouse { host: host.clone(), woken: Mutex::new(false), outer: cx.waker().clone() });
        let waker = Waker::from(rouse.clone());
        let polled = Pin::new(&mut self.stream).poll_next(&mut Context::from_waker(&waker));
        if polled.is_pending() {
            let woken = rouse.woken.lock().unwrap();
            if !*woken {
                let mut rest = host.rest();
                rest.rests = true;
                rest.waiting.take().into_iter().for_each(Waker::wake);
            }
        }
        polled
    }
}
