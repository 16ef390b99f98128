//! What the fields of a custom message may be that have a meaning of their own.

use std::sync::Arc;

use super::{Content, Image, Text, Timestamp};

/// The time of a custom message: the type of its field `timestamp`, or of the one that is marked.
///
/// Implement it for a time type of your own; its JSON should still be milliseconds since the Unix epoch, as in every
/// other message.
#[diagnostic::on_unimplemented(
    message = "`{Self}` does not say when a message was made",
    label = "not a timestamp",
    note = "the time of a message is a `u64`, milliseconds since the Unix epoch, or an `Option` of it",
    note = "a field that only has this name in JSON gets another name in Rust, and `#[serde(rename = \"timestamp\")]`"
)]
pub trait TimestampField {
    /// The time, if there is one.
    fn timestamp(&self) -> Option<Timestamp>;
}

impl TimestampField for Timestamp {
    fn timestamp(&self) -> Option<Timestamp> {
        Some(*self)
    }
}

impl<T: TimestampField> TimestampField for Option<T> {
    fn timestamp(&self) -> Option<Timestamp> {
        self.as_ref()?.timestamp()
    }
}

/// Content that goes to the model as blocks: the type of a field marked `#[message(content)]`.
///
/// Implement it for a type of your own, such as an attachment, to say which blocks it is.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not content for a model",
    label = "not content",
    note = "a field marked `content` is a `Content`, an `Image` or a `Text`, or an `Option` or a `Vec` of one; for a type of your own implement `ContentField`"
)]
pub trait ContentField {
    /// Appends the field's blocks.
    fn append_to(&self, blocks: &mut Vec<Content>);
}

impl ContentField for Content {
    fn append_to(&self, blocks: &mut Vec<Content>) {
        blocks.push(self.clone());
    }
}

impl ContentField for Image {
    fn append_to(&self, blocks: &mut Vec<Content>) {
        blocks.push(self.clone().into());
    }
}

impl ContentField for Text {
    fn append_to(&self, blocks: &mut Vec<Content>) {
        blocks.push(self.clone().into());
    }
}

impl<T: ContentField> ContentField for Option<T> {
    fn append_to(&self, blocks: &mut Vec<Content>) {
        self.iter().for_each(|content| content.append_to(blocks));
    }
}

impl<T: ContentField> ContentField for Vec<T> {
    fn append_to(&self, blocks: &mut Vec<Content>) {
        self.iter().for_each(|content| content.append_to(blocks));
    }
}

impl<T: ContentField + ?Sized> ContentField for Box<T> {
    fn append_to(&self, blocks: &mut Vec<Content>) {
        (**self).append_to(blocks);
    }
}

impl<T: ContentField + ?Sized> ContentField for Arc<T> {
    fn append_to(&self, blocks: &mut Vec<Content>) {
        (**self).append_to(blocks);
    }
}

impl<T: ContentField> ContentField for [T] {
    fn append_to(&self, blocks: &mut Vec<Content>) {
        self.iter().for_each(|content| content.append_to(blocks));
    }
}
