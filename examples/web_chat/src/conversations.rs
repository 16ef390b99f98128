//! All conversations of a server, by id.

use std::collections::HashMap;
use std::fmt;
use std::hash::{BuildHasher, RandomState};
use std::sync::{Arc, Mutex, MutexGuard, PoisonError};

use tokio::sync::{OwnedSemaphorePermit, Semaphore};

use crate::conversation::Conversation;
use crate::feed::Retained;
use crate::limits::Limits;
use crate::model::ChatModel;

/// All conversations of a server.
pub(crate) struct Conversations {
    model: ChatModel,
    limits: Limits,
    inner: Mutex<Inner>,
    /// One permit for each event stream that may be open.
    readers: Arc<Semaphore>,
    /// Where ids come from: the keys of this hasher are random, and nobody sees them.
    ids: [RandomState; 2],
}

#[derive(Default)]
struct Inner {
    by_id: HashMap<String, Held>,
    /// Counts what is done: a clock for which conversation was unused longest, and a number for new ids.
    moment: u64,
}

struct Held {
    conversation: Arc<Conversation>,
    used: u64,
}

/// There is no room for another conversation: all of them are in use.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) struct TooMany;

impl Conversations {
    pub(crate) fn new(model: ChatModel, limits: Limits) -> Self {
        let readers = Arc::new(Semaphore::new(limits.readers));
        let ids = [RandomState::new(), RandomState::new()];
        Self { model, limits, inner: Mutex::default(), readers, ids }
    }

    pub(crate) fn model(&self) -> &ChatModel {
        &self.model
    }

    pub(crate) fn limits(&self) -> &Limits {
        &self.limits
    }

    fn lock(&self) -> MutexGuard<'_, Inner> {
        self.inner.lock().unwrap_or_else(PoisonError::into_inner)
    }

    /// Starts a conversation, and gives its id.
    pub(crate) fn create(&self) -> Result<String, TooMany> {
        let conversation = Arc::new(Conversation::new(&self.model, &self.limits));
        let mut inner = self.lock();
        let forgotten = if inner.by_id.len() >= self.limits.conversations {
            Some(inner.forget_oldest().ok_or(TooMany)?)
        } else {
            None
        };
        inner.moment += 1;
        let used = inner.moment;
        let id = self.ids.iter().map(|keys| format!("{:016x}", keys.hash_one(used))).collect::<String>();
        inner.by_id.insert(id.clone(), Held { conversation, used });
        drop(inner);
        drop(forgotten);
        Ok(id)
    }

    /// The conversation with this id, if it is still there.
    pub(crate) fn get(&self, id: &str) -> Option<Arc<Conversation>> {
        let mut inner = self.lock();
        inner.moment += 1;
        let moment = inner.moment;
        let held = inner.by_id.get_mut(id)?;
        held.used = moment;
        Some(held.conversation.clone())
    }

    /// The right to open an event stream, if there are not too many.
    pub(crate) fn admit_reader(&self) -> Option<OwnedSemaphorePermit> {
        self.readers.clone().try_acquire_owned().ok()
    }

    pub(crate) fn len(&self) -> usize {
        self.lock().by_id.len()
    }

    pub(crate) fn readers(&self) -> usize {
        self.all().iter().map(|conversation| conversation.feed().readers()).sum()
    }

    pub(crate) fn retained(&self) -> Retained {
        self.all().iter().map(|conversation| conversation.feed().retained()).fold(
            Retained::default(),
            |sum, feed| Retained { steps: sum.steps + feed.steps, bytes: sum.bytes + feed.bytes },
        )
    }

    fn all(&self) -> Vec<Arc<Conversation>> {
        self.lock().by_id.values().map(|held| held.conversation.clone()).collect()
    }
}

impl Inner {
    /// Takes out the conversation that was unused for the longest time, unless all are in use.
    fn forget_oldest(&mut self) -> Option<Held> {
        let unused = self.by_id.iter().filter(|(_, held)| held.conversation.is_unused());
        let oldest = unused.min_by_key(|(_, held)| held.used)?.0.clone();
        self.by_id.remove(&oldest)
    }
}

impl fmt::Display for TooMany {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("This server holds as many conversations as it can, and all of them are in use.")
    }
}

impl fmt::Debug for Conversations {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Conversations")
            .field("model", &self.model)
            .field("conversations", &self.len())
            .finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use std::time::Duration;

    use super::*;

    fn two_at_most() -> Conversations {
        let limits = Limits { conversations: 2, readers: 1, ..Limits::default() };
        Conversations::new(ChatModel::demonstration(Duration::ZERO), limits)
    }

    #[test]
    fn ids_differ_and_cannot_be_counted_up() {
        let conversations = two_at_most();
        let ids: Vec<_> = (0..2).map(|_| conversations.create().unwrap()).collect();
        assert!(ids.iter().all(|id| id.len() == 32), "{ids:?}");
        assert!(ids[0][..16] != ids[1][..16] && ids[0][16..] != ids[1][16..], "{ids:?}");
        assert!(conversations.get("").is_none());
    }

    #[test]
    fn at_the_limit_the_one_that_was_unused_longest_makes_place() {
        let conversations = two_at_most();
        let (first, second) = (conversations.create().unwrap(), conversations.create().unwrap());
        conversations.get(&first).unwrap();
        let third = conversations.create().unwrap();
        assert_eq!(conversations.len(), 2);
        assert!(conversations.get(&second).is_none());
        assert!(conversations.get(&first).is_some() && conversations.get(&third).is_some());
    }

    #[test]
    fn a_conversation_that_is_read_is_not_forgotten() {
        let conversations = two_at_most();
        let read = |id: &str| conversations.get(id).unwrap().feed().read(None);
        let first = conversations.create().unwrap();
        let reading_first = read(&first);
        let second = conversations.create().unwrap();
        let _reading_second = read(&second);
        assert_eq!(conversations.create(), Err(TooMany));
        drop(reading_first);
        assert!(conversations.create().is_ok());
        assert!(conversations.get(&first).is_none() && conversations.get(&second).is_some());
    }

    #[test]
    fn readers_are_counted() {
        let conversations = two_at_most();
        let permit = conversations.admit_reader();
        assert!(permit.is_some() && conversations.admit_reader().is_none());
        drop(permit);
        assert!(conversations.admit_reader().is_some());
    }
}
