//! The chunks of a chat completion, as servers send them: every field may be missing or `null`.

use serde::{Deserialize, Deserializer};
use serde_json::Value;

use crate::message::Usage;
use crate::provider::ending::Counts;

/// One event of the stream, or the whole completion of a server that does not stream.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Chunk {
    pub(super) id: Option<String>,
    pub(super) model: Option<String>,
    pub(super) choices: Option<Vec<Choice>>,
    pub(super) usage: Option<WireUsage>,
    pub(super) error: Option<Value>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Choice {
    pub(super) index: Option<u32>,
    pub(super) delta: Option<Piece>,
    /// What a server that does not stream has in the place of `delta`.
    pub(super) message: Option<Piece>,
    pub(super) finish_reason: Option<String>,
    /// Where some servers put it.
    pub(super) usage: Option<WireUsage>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Piece {
    pub(super) content: Option<Words>,
    pub(super) refusal: Option<String>,
    pub(super) reasoning_content: Option<Words>,
    pub(super) reasoning: Option<Words>,
    pub(super) reasoning_text: Option<Words>,
    /// OpenRouter's, a list where it is one.
    pub(super) reasoning_details: Option<Value>,
    pub(super) tool_calls: Option<Vec<CallPiece>>,
}

/// Text, as one string or in parts.
#[derive(Debug, Deserialize)]
#[serde(untagged)]
pub(super) enum Words {
    Text(String),
    Parts(Vec<Part>),
    Other(serde::de::IgnoredAny),
}

/// A part of text, or of thinking that itself is text or has parts.
#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct Part {
    text: Option<String>,
    thinking: Option<Words>,
}

impl Words {
    /// The text for the reader.
    pub(super) fn text(self) -> String {
        match self {
            Self::Text(text) => text,
            Self::Parts(parts) => parts.into_iter().filter_map(|part| part.text).collect(),
            Self::Other(_) => String::new(),
        }
    }

    /// The thinking among the parts of the text, as Mistral sends it.
    pub(super) fn thinking(&mut self) -> String {
        let Self::Parts(parts) = self else { return String::new() };
        parts.iter_mut().filter_map(|part| part.thinking.take()).map(Self::text).collect()
    }
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct CallPiece {
    pub(super) index: Option<u64>,
    pub(super) id: Option<String>,
    pub(super) function: Option<FunctionPiece>,
}

#[derive(Debug, Default, Deserialize)]
#[serde(default)]
pub(super) struct FunctionPiece {
    pub(super) name: Option<String>,
    /// A fragment of text; the whole object from servers that do not stream arguments.
    pub(super) arguments: Option<Value>,
}

impl FunctionPiece {
    /// The fragment of the arguments' text.
    pub(super) fn fragment(&mut self) -> String {
        match self.arguments.take() {
            None | Some(Value::Null) => String::new(),
            Some(Value::String(fragment)) => fragment,
            Some(whole) => whole.to_string(),
        }
    }
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
pub(super) struct WireUsage {
    #[serde(deserialize_with = "count")]
    prompt_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    completion_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    total_tokens: Option<u64>,
    prompt_tokens_details: Option<PromptDetails>,
    completion_tokens_details: Option<CompletionDetails>,
    /// DeepSeek's word for the tokens that came from its cache.
    #[serde(deserialize_with = "count")]
    prompt_cache_hit_tokens: Option<u64>,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
struct PromptDetails {
    #[serde(deserialize_with = "count")]
    cached_tokens: Option<u64>,
    #[serde(deserialize_with = "count")]
    cache_write_tokens: Option<u64>,
}

#[derive(Debug, Default, Clone, Copy, Deserialize)]
#[serde(default)]
struct CompletionDetails {
    #[serde(deserialize_with = "count")]
    reasoning_tokens: Option<u64>,
}

/// A count; what is none counts as missing, so that an odd number does not fail an answer.
fn count<'de, D: Deserializer<'de>>(deserializer: D) -> Result<Option<u64>, D::Error> {
    Ok(Value::deserialize(deserializer)?.as_u64())
}

impl From<WireUsage> for Usage {
    fn from(wire: WireUsage) -> Self {
        let details = wire.prompt_tokens_details.unwrap_or_default();
        Self::from(Counts {
            prompt: wire.prompt_tokens,
            output: wire.completion_tokens,
            cache_read: details.cached_tokens.or(wire.prompt_cache_hit_tokens),
            cache_write: details.cache_write_tokens,
            cache_write_1h: None,
            reasoning: wire.completion_tokens_details.and_then(|details| details.reasoning_tokens),
            total: wire.total_tokens,
        })
    }
}
