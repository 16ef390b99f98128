//! The value that grows, and the way to the place where it grows.

use serde_json::{Map, Value};

/// A JSON object under construction.
///
/// Between two fragments it is one whole [`Value`], so that it can be read by reference. A reference to the place
/// where it grows cannot be kept beside it, hence `path`: the first change of a fragment walks down from the root.
/// Before that change the open objects and arrays are taken out of each other into `apart`, where each is at hand, and
/// [`put_together`](Self::put_together) reverses it at the end of the fragment. So a fragment pays for the depth
/// twice at most, and not once per token.
#[derive(Debug, Clone, Default)]
pub(super) struct Tree {
    root: Option<Value>,
    /// Where each open value below the root is in the one around it, from the outside in.
    path: Vec<Place>,
    /// Empty, or the root and all that `path` names, taken out of each other.
    apart: Vec<Value>,
    /// The length of all keys in `path`: what one walk compares.
    key_bytes: usize,
    pub(super) work: Work,
}

/// Where a value is in the object or array around it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(super) enum Place {
    Key(String),
    Item(usize),
}

impl Tree {
    /// The value as it stands; only meaningful when it is put together.
    pub(super) fn value(&self) -> Option<&Value> {
        self.root.as_ref()
    }

    /// The finished object; `None` when there is none.
    pub(super) fn into_object(self) -> Option<Map<String, Value>> {
        match self.root {
            Some(Value::Object(object)) => Some(object),
            _ => None,
        }
    }

    /// How many objects and arrays are open while no string is.
    pub(super) fn depth(&self) -> usize {
        self.path.len() + usize::from(self.root.is_some() || !self.apart.is_empty())
    }

    /// How many bytes of text are worth a walk.
    ///
    /// A walk compares every key on the path. To keep the whole cost linear in the text, with long keys it has to wait
    /// for a share of their length; with ordinary ones every byte is worth it.
    pub(super) fn worthwhile(&self) -> usize {
        const KEY_BYTES_PER_BYTE_OF_TEXT: usize = 256;
        self.key_bytes / KEY_BYTES_PER_BYTE_OF_TEXT
    }

    /// The root object opens.
    pub(super) fn start(&mut self) {
        self.root = Some(Value::Object(Map::new()));
    }

    /// A value that is complete.
    pub(super) fn insert(&mut self, place: Place, value: Value) {
        self.take_apart();
        if let Some(parent) = self.apart.last_mut() {
            put(parent, place, value);
        }
    }

    /// A value that will grow: an object, an array or a string.
    pub(super) fn open(&mut self, place: Place, value: Value) {
        self.take_apart();
        self.key_bytes += place.key_length();
        self.path.push(place);
        self.apart.push(value);
    }

    /// The open string.
    pub(super) fn string(&mut self) -> Option<&mut String> {
        match self.innermost() {
            Some(Value::String(string)) => Some(string),
            _ => None,
        }
    }

    /// The innermost open value is complete. Where it was; `None` for the root.
    pub(super) fn close(&mut self) -> Option<Container> {
        let place = self.path.pop()?;
        self.key_bytes -= place.key_length();
        let around = match place {
            Place::Key(_) => Container::Object,
            Place::Item(index) => Container::Array { next: index + 1 },
        };
        // While the tree is together, the value already is where it belongs.
        if let Some(value) = self.apart.pop() {
            if let Some(parent) = self.apart.last_mut() {
                put(parent, place, value);
            }
        }
        Some(around)
    }

    /// Makes the value readable.
    pub(super) fn put_together(&mut self) {
        while let Some(value) = self.apart.pop() {
            // The root has no place, so a value's place is one before its own position.
            let place = self.apart.len().checked_sub(1).and_then(|index| self.path.get(index));
            let (Some(place), Some(parent)) = (place, self.apart.last_mut()) else {
                self.root = Some(value);
                return;
            };
            self.work.add(place.key_length());
            match slot(parent, place) {
                Some(slot) => *slot = value,
                None => put(parent, place.clone(), value),
            }
        }
    }

    fn take_apart(&mut self) {
        if !self.apart.is_empty() {
            return;
        }
        self.apart.extend(self.root.take());
        for place in &self.path {
            self.work.add(place.key_length());
            let child = self.apart.last_mut().and_then(|parent| slot(parent, place)).map(Value::take);
            self.apart.extend(child);
        }
    }

    fn innermost(&mut self) -> Option<&mut Value> {
        if !self.apart.is_empty() {
            return self.apart.last_mut();
        }
        let mut value = self.root.as_mut()?;
        for place in &self.path {
            self.work.add(place.key_length());
            value = slot(value, place)?;
        }
        Some(value)
    }
}

/// The object or array in which the next value belongs.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Container {
    Object,
    Array { next: usize },
}

impl Place {
    fn key_length(&self) -> usize {
        match self {
            Place::Key(key) => key.len(),
            Place::Item(_) => 0,
        }
    }
}

fn slot<'tree>(parent: &'tree mut Value, place: &Place) -> Option<&'tree mut Value> {
    match (parent, place) {
        (Value::Object(object), Place::Key(key)) => object.get_mut(key),
        (Value::Array(items), Place::Item(index)) => items.get_mut(*index),
        _ => None,
    }
}

fn put(parent: &mut Value, place: Place, value: Value) {
    match (parent, place) {
        (Value::Object(object), Place::Key(key)) => {
            object.insert(key, value);
        }
        (Value::Array(items), Place::Item(index)) => match items.get_mut(index) {
            Some(item) => *item = value,
            None => items.push(value),
        },
        // The reader names keys in objects and indices in arrays only.
        _ => {}
    }
}

/// Counts the bytes looked at, in tests only, where the promise that they are linear in the text is kept.
#[derive(Debug, Clone, Default)]
pub(super) struct Work {
    #[cfg(test)]
    pub(super) bytes: usize,
}

impl Work {
    #[inline]
    pub(super) fn add(&mut self, bytes: usize) {
        #[cfg(test)]
        {
            self.bytes += bytes;
        }
        #[cfg(not(test))]
        let _ = bytes;
    }
}
