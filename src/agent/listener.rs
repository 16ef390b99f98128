//! Listeners: what is told of a shared agent's runs.

use std::fmt;
use std::panic::AssertUnwindSafe;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError, Weak};

use futures_util::FutureExt;
use futures_util::future::BoxFuture;

use super::slot::Shared;
use crate::abort::AbortSignal;
use crate::agent_loop::Foreign;
use crate::async_fn::{SendAsyncFn2, SharedClosure};
use crate::error_text::panic_text;
use crate::event::AgentEvent;
use crate::message::{CustomMessage, NoCustom};
use crate::state::State;

/// What a listener sees beside the event. Cheap to copy.
#[non_exhaustive]
pub struct ListenerContext<'a, M = NoCustom> {
    /// What the run knows at this event, exactly.
    pub state: &'a State<M>,
    /// The run's abort signal. A listener that may wait long looks at it: the run waits for its listeners also after
    /// an abort.
    pub abort: &'a AbortSignal,
}

impl<M> Clone for ListenerContext<'_, M> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<M> Copy for ListenerContext<'_, M> {}

impl<M> fmt::Debug for ListenerContext<'_, M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ListenerContext")
            .field("messages", &self.state.transcript().len())
            .field("abort", self.abort)
            .finish()
    }
}

/// A listener, as an object.
trait Listener<M>: Send + Sync {
    fn hear<'a>(&'a self, event: &'a AgentEvent<M>, cx: ListenerContext<'a, M>) -> BoxFuture<'a, ()>;
}

struct ListenerFn<F>(F);

impl<M: CustomMessage, F: SharedClosure> Listener<M> for ListenerFn<F>
where
    F: for<'a> SendAsyncFn2<&'a AgentEvent<M>, ListenerContext<'a, M>, ()>,
{
    fn hear<'a>(&'a self, event: &'a AgentEvent<M>, cx: ListenerContext<'a, M>) -> BoxFuture<'a, ()> {
        // Called inside the future, so that a panic of the call is caught where that of the future is.
        Box::pin(async move { (self.0.clone())(event, cx).await })
    }
}

/// A listener in the list.
struct Subscribed<M> {
    /// What it captures is dropped wherever the list is read last.
    listener: Foreign<Box<dyn Listener<M>>>,
    /// Another listener of the same event may have unsubscribed it.
    gone: AtomicBool,
}

impl<M> Subscribed<M> {
    fn is_gone(&self) -> bool {
        self.gone.load(Ordering::Acquire)
    }
}

/// Listeners in order of registration. The list is copied when it changes while someone reads it.
type List<M> = Arc<Vec<Arc<Subscribed<M>>>>;

/// The listeners of an agent.
pub(super) struct Listeners<M> {
    list: Mutex<List<M>>,
    /// Another one whenever the list has changed: who knows a list sees without the lock that it is still the same.
    version: AtomicU64,
}

/// The listeners of one moment.
pub(super) struct Listening<M> {
    list: List<M>,
    version: u64,
}

impl<M> Default for Listeners<M> {
    fn default() -> Self {
        Self { list: Mutex::default(), version: AtomicU64::new(0) }
    }
}

impl<M> Listeners<M> {
    fn lock(&self) -> MutexGuard<'_, List<M>> {
        // No foreign code runs under the lock, so it cannot be left half-changed.
        self.list.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Those who listen now: what is known already, if nothing has changed since.
    pub(super) fn listening(&self, known: Option<Listening<M>>) -> Listening<M> {
        known.filter(|known| known.version == self.version.load(Ordering::Acquire)).unwrap_or_else(|| {
            let list = self.lock();
            Listening { list: list.clone(), version: self.version.load(Ordering::Acquire) }
        })
    }

    pub(super) fn len(&self) -> usize {
        self.lock().len()
    }

    fn add(&self, listener: Box<dyn Listener<M>>) -> Weak<Subscribed<M>> {
        let subscribed =
            Arc::new(Subscribed { listener: Foreign::new(listener), gone: AtomicBool::new(false) });
        let weak = Arc::downgrade(&subscribed);
        let mut list = self.lock();
        Arc::make_mut(&mut list).push(subscribed);
        self.version.fetch_add(1, Ordering::Release);
        weak
    }

    fn remove(&self, subscribed: &Arc<Subscribed<M>>) {
        subscribed.gone.store(true, Ordering::Release);
        let mut list = self.lock();
        if let Some(at) = list.iter().position(|known| Arc::ptr_eq(known, subscribed)) {
            // The caller holds it too: a listener's captures are not dropped under the lock.
            Arc::make_mut(&mut list).remove(at);
            self.version.fetch_add(1, Ordering::Release);
        }
    }
}

impl<M> Listening<M> {
    /// Tells an event to one listener after the other, and gives the text of the first panic. One that panics keeps
    /// nobody else from hearing it.
    pub(super) async fn tell(&self, event: &AgentEvent<M>, cx: ListenerContext<'_, M>) -> Option<String> {
        let mut panicked = None;
        for subscribed in self.list.iter() {
            let Some(listener) = subscribed.listener.get().filter(|_| !subscribed.is_gone()) else {
                continue;
            };
            let hearing = Foreign::new(listener.hear(event, cx));
            if let Err(panic) = AssertUnwindSafe(hearing).catch_unwind().await {
                let text = panic_text(panic);
                panicked.get_or_insert(text);
            }
        }
        panicked
    }
}

/// Keeps a listener subscribed. Dropping it unsubscribes the listener.
#[must_use = "dropping a subscription unsubscribes its listener: hold it, or `keep` it as long as the agent lives"]
pub struct Subscription<M: CustomMessage = NoCustom> {
    agent: Weak<Shared<M>>,
    subscribed: Weak<Subscribed<M>>,
}

impl<M: CustomMessage> Subscription<M> {
    pub(super) fn new<F>(agent: &Arc<Shared<M>>, listener: F) -> Self
    where
        F: for<'a> SendAsyncFn2<&'a AgentEvent<M>, ListenerContext<'a, M>, ()> + SharedClosure,
    {
        let subscribed = agent.listeners.add(Box::new(ListenerFn(listener)));
        Self { agent: Arc::downgrade(agent), subscribed }
    }

    /// Unsubscribes the listener: it hears no further event. One that it is hearing now, it hears to the end.
    pub fn unsubscribe(self) {
        drop(self);
    }

    /// Keeps the listener subscribed as long as the agent lives.
    pub fn keep(mut self) {
        self.subscribed = Weak::new();
    }
}

impl<M: CustomMessage> Drop for Subscription<M> {
    fn drop(&mut self) {
        if let (Some(agent), Some(subscribed)) = (self.agent.upgrade(), self.subscribed.upgrade()) {
            agent.listeners.remove(&subscribed);
        }
    }
}

impl<M: CustomMessage> fmt::Debug for Subscription<M> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let is_subscribed = self.subscribed.strong_count() > 0;
        f.debug_struct("Subscription").field("is_subscribed", &is_subscribed).finish_non_exhaustive()
    }
}
