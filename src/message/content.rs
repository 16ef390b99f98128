//! The blocks that message content is made of.

use serde::{Deserialize, Deserializer, Serialize};

use super::json::{FromTagged, null_as_default, read_tagged, unknown_tag};

/// One block of a user message's or a tool result's content.
///
/// JSON: `{"type": "text", …}` or `{"type": "image", …}`.
#[derive(Debug, Clone, PartialEq, Serialize)]
#[serde(tag = "type", rename_all = "camelCase")]
#[non_exhaustive]
pub enum Content {
    /// Text.
    Text(Text),
    /// An image.
    Image(Image),
}

impl Content {
    /// A text block.
    #[must_use]
    pub fn text(text: impl Into<String>) -> Self {
        Self::Text(Text::new(text))
    }

    /// An image block from base64 data and its MIME type.
    #[must_use]
    pub fn image(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self::Image(Image::new(data, mime_type))
    }

    /// The text, if this is a text block.
    #[must_use]
    pub fn as_text(&self) -> Option<&str> {
        match self {
            Self::Text(text) => Some(&text.text),
            Self::Image(_) => None,
        }
    }
}

impl From<Text> for Content {
    fn from(text: Text) -> Self {
        Self::Text(text)
    }
}

impl From<Image> for Content {
    fn from(image: Image) -> Self {
        Self::Image(image)
    }
}

impl From<&str> for Content {
    fn from(text: &str) -> Self {
        Self::text(text)
    }
}

impl From<String> for Content {
    fn from(text: String) -> Self {
        Self::text(text)
    }
}

impl<'de> FromTagged<'de> for Content {
    const TAG: &'static str = "type";

    fn from_tagged<D: Deserializer<'de>>(tag: &str, fields: D) -> Result<Self, D::Error> {
        match tag {
            "text" => Text::deserialize(fields).map(Self::Text),
            "image" => Image::deserialize(fields).map(Self::Image),
            other => Err(unknown_tag("content block type", other, &["text", "image"])),
        }
    }
}

impl<'de> Deserialize<'de> for Content {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_tagged(deserializer)
    }
}

/// A text block.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Text {
    /// The text; may be empty.
    #[serde(default, deserialize_with = "null_as_default")]
    pub text: String,
    /// The provider's opaque mark of this block, sent back unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub text_signature: Option<String>,
}

impl Text {
    /// A text block without a signature.
    #[must_use]
    pub fn new(text: impl Into<String>) -> Self {
        Self { text: text.into(), text_signature: None }
    }
}

/// A block of the model's thinking.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Thinking {
    /// The text of the thinking; empty where the provider hides it.
    #[serde(default, deserialize_with = "null_as_default")]
    pub thinking: String,
    /// The provider's opaque mark of this block, sent back unchanged.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub thinking_signature: Option<String>,
    /// `Some(true)`: the provider has hidden the thinking, and its payload is in the signature.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub redacted: Option<bool>,
}

impl Thinking {
    /// A thinking block without a signature.
    #[must_use]
    pub fn new(thinking: impl Into<String>) -> Self {
        Self { thinking: thinking.into(), ..Self::default() }
    }
}

/// An image.
#[derive(Debug, Clone, PartialEq, Eq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase")]
#[non_exhaustive]
pub struct Image {
    /// The image's bytes in base64.
    pub data: String,
    /// The MIME type, as `image/png`.
    pub mime_type: String,
}

impl Image {
    /// An image from base64 data and its MIME type.
    #[must_use]
    pub fn new(data: impl Into<String>, mime_type: impl Into<String>) -> Self {
        Self { data: data.into(), mime_type: mime_type.into() }
    }
}
