//! System messages: the prompt, its sections, and the declarations of tools.

use std::fmt;
use std::sync::Arc;

use serde::de::{Deserializer, MapAccess, Visitor};
use serde::ser::{SerializeMap, Serializer};
use serde::{Deserialize, Serialize};

use super::json::{FromTagged, TextOrBlocks, arc_list, null_as_default, read_tagged, unknown_tag};
use super::{Text, Timestamp, ToolDeclaration};

/// What the host tells the model: prompt text, named sections, and which tools it may call.
///
/// A transcript may hold several. Each one changes what came before; [replaying](crate::transcript::Replay) them in
/// order gives the prompt and the tools of the moment.
#[derive(Debug, Clone, PartialEq, Default, Serialize, Deserialize)]
#[serde(tag = "role", rename = "system", rename_all = "camelCase")]
#[non_exhaustive]
pub struct SystemMessage {
    /// Prompt text, added to the prompt so far; may be empty.
    #[serde(default)]
    pub content: TextContent,
    /// Named parts of the prompt, in order: a text sets one, `None` removes it.
    #[serde(default, skip_serializing_if = "Sections::is_empty")]
    pub sections: Sections,
    /// Tools declared here, new ones and replacements.
    #[serde(default, skip_serializing_if = "Vec::is_empty", with = "arc_list")]
    pub tools_added: Vec<Arc<ToolDeclaration>>,
    /// Tools taken back here.
    #[serde(default, skip_serializing_if = "Vec::is_empty", deserialize_with = "null_as_default")]
    pub tools_removed: Vec<RemovedTool>,
    /// When it was made; 0 for the one made from a builder's prompt and tools.
    #[serde(default, deserialize_with = "null_as_default")]
    pub timestamp: Timestamp,
}

impl SystemMessage {
    /// A system message with prompt text alone.
    #[must_use]
    pub fn new(content: impl Into<String>) -> Self {
        Self { content: TextContent::Text(content.into()), ..Self::default() }
    }

    /// Sets the timestamp.
    #[must_use]
    pub fn at(mut self, timestamp: Timestamp) -> Self {
        self.timestamp = timestamp;
        self
    }

    /// Sets a named section of the prompt.
    #[must_use]
    pub fn with_section(mut self, name: impl Into<String>, text: impl Into<String>) -> Self {
        self.sections.set(name, Some(text.into()));
        self
    }

    /// Whether it says nothing at all: no text, no section, no tool.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.content.is_empty() && self.sections.is_empty() && !self.changes_tools()
    }

    /// Whether it adds or removes tools.
    #[must_use]
    pub fn changes_tools(&self) -> bool {
        !self.tools_added.is_empty() || !self.tools_removed.is_empty()
    }
}

/// A tool taken back, by its name.
#[derive(Debug, Clone, PartialEq, Eq, Serialize, Deserialize)]
#[non_exhaustive]
pub struct RemovedTool {
    /// The tool's name.
    pub name: String,
}

impl RemovedTool {
    /// The tool of this name is taken back.
    #[must_use]
    pub fn new(name: impl Into<String>) -> Self {
        Self { name: name.into() }
    }
}

/// Text content in either of its two JSON forms: one text, or a list of text blocks. The form is kept.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum TextContent {
    /// One text.
    Text(String),
    /// A list of text blocks.
    Blocks(Vec<Text>),
}

impl TextContent {
    /// The texts, in order.
    pub fn texts(&self) -> impl Iterator<Item = &str> {
        let (text, blocks) = match self {
            Self::Text(text) => (Some(text.as_str()), &[][..]),
            Self::Blocks(blocks) => (None, &blocks[..]),
        };
        text.into_iter().chain(blocks.iter().map(|block| block.text.as_str()))
    }

    /// The texts joined by line feeds.
    #[must_use]
    pub fn joined(&self) -> String {
        self.texts().collect::<Vec<_>>().join("\n")
    }

    /// Whether there is no text in it.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.texts().all(str::is_empty)
    }
}

impl Default for TextContent {
    fn default() -> Self {
        Self::Text(String::new())
    }
}

impl From<&str> for TextContent {
    fn from(text: &str) -> Self {
        Self::Text(text.to_owned())
    }
}

impl From<String> for TextContent {
    fn from(text: String) -> Self {
        Self::Text(text)
    }
}

impl Serialize for TextContent {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        #[derive(Serialize)]
        #[serde(tag = "type", rename_all = "camelCase")]
        enum Block<'a> {
            Text(&'a Text),
        }
        match self {
            Self::Text(text) => serializer.serialize_str(text),
            Self::Blocks(blocks) => serializer.collect_seq(blocks.iter().map(Block::Text)),
        }
    }
}

/// A text block that checks its `type`.
struct TextBlock(Text);

impl<'de> FromTagged<'de> for TextBlock {
    const TAG: &'static str = "type";

    fn from_tagged<D: Deserializer<'de>>(tag: &str, fields: D) -> Result<Self, D::Error> {
        match tag {
            "text" => Text::deserialize(fields).map(Self),
            other => Err(unknown_tag("block type in text content", other, &["text"])),
        }
    }
}

impl<'de> Deserialize<'de> for TextBlock {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        read_tagged(deserializer)
    }
}

impl<'de> Deserialize<'de> for TextContent {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        Ok(match TextOrBlocks::deserialize(deserializer)? {
            TextOrBlocks::Text(text) => Self::Text(text),
            TextOrBlocks::Blocks(blocks) => {
                Self::Blocks(blocks.into_iter().map(|TextBlock(text)| text).collect())
            }
        })
    }
}

/// Named parts of a prompt in the order they were first set. A `None` stands for "removed".
///
/// JSON: an object of name → text or `null`; the order of its keys is kept.
#[derive(Debug, Clone, PartialEq, Eq, Default)]
pub struct Sections(Vec<(String, Option<String>)>);

impl Sections {
    /// Sets a section where it stands, or adds it at the end.
    pub fn set(&mut self, name: impl Into<String>, text: Option<String>) {
        let name = name.into();
        match self.0.iter_mut().find(|(known, _)| *known == name) {
            Some((_, known)) => *known = text,
            None => self.0.push((name, text)),
        }
    }

    /// Takes a section out, wherever it stands.
    pub fn remove(&mut self, name: &str) {
        self.0.retain(|(known, _)| known != name);
    }

    /// The text of a section; `None` when it is absent or stands for "removed".
    #[must_use]
    pub fn get(&self, name: &str) -> Option<&str> {
        self.0.iter().find(|(known, _)| known == name)?.1.as_deref()
    }

    /// Names and texts in order.
    pub fn iter(&self) -> impl Iterator<Item = (&str, Option<&str>)> {
        self.0.iter().map(|(name, text)| (name.as_str(), text.as_deref()))
    }

    /// Whether there is none.
    #[must_use]
    pub fn is_empty(&self) -> bool {
        self.0.is_empty()
    }
}

impl<N: Into<String>, T: Into<String>> FromIterator<(N, T)> for Sections {
    fn from_iter<I: IntoIterator<Item = (N, T)>>(sections: I) -> Self {
        let mut all = Self::default();
        for (name, text) in sections {
            all.set(name, Some(text.into()));
        }
        all
    }
}

impl Serialize for Sections {
    fn serialize<S: Serializer>(&self, serializer: S) -> Result<S::Ok, S::Error> {
        let mut map = serializer.serialize_map(Some(self.0.len()))?;
        for (name, text) in &self.0 {
            map.serialize_entry(name, text)?;
        }
        map.end()
    }
}

impl<'de> Deserialize<'de> for Sections {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct InOrder;
        impl<'de> Visitor<'de> for InOrder {
            type Value = Sections;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("an object of section names and texts")
            }

            fn visit_unit<E: serde::de::Error>(self) -> Result<Sections, E> {
                Ok(Sections::default())
            }

            fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<Sections, A::Error> {
                let mut sections = Sections::default();
                while let Some((name, text)) = map.next_entry::<String, Option<String>>()? {
                    sections.set(name, text);
                }
                Ok(sections)
            }
        }
        deserializer.deserialize_any(InOrder)
    }
}
