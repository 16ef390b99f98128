//! How answers end and what they used, as far as that is the same for every protocol.

use crate::error_text::excerpt;
use crate::message::Usage;

/// The answer broke off, and nothing says why.
pub(crate) const EARLY: &str = "the provider ended its answer before it was complete";

/// The provider's word for the end was that it failed.
pub(crate) const FAILED: &str = "the provider ended its answer as failed";

/// The provider kept the answer, or the rest of it, back.
pub(crate) const FILTERED: &str = "the provider's content filter stopped the answer";

/// The longest word of a provider that is repeated, in bytes.
const SHOWN: usize = 200;

/// A provider's word for the end that nobody knows.
pub(crate) fn unknown_reason(word: &str) -> String {
    format!("the provider ended its answer for an unknown reason: `{}`", excerpt(word, SHOWN))
}

/// Tokens as providers count them: what came from the cache, or went into it, is among those of the prompt.
#[derive(Debug)]
pub(crate) struct Counts {
    pub(crate) prompt: Option<u64>,
    pub(crate) output: Option<u64>,
    pub(crate) cache_read: Option<u64>,
    pub(crate) cache_write: Option<u64>,
    pub(crate) cache_write_1h: Option<u64>,
    pub(crate) reasoning: Option<u64>,
    pub(crate) total: Option<u64>,
}

impl From<Counts> for Usage {
    fn from(counts: Counts) -> Self {
        let [prompt, output, cache_read, cache_write] =
            [counts.prompt, counts.output, counts.cache_read, counts.cache_write]
                .map(Option::unwrap_or_default);
        let mut usage = Self::new(prompt.saturating_sub(cache_read).saturating_sub(cache_write), output);
        usage.cache_read = cache_read;
        usage.cache_write = cache_write;
        usage.cache_write_1h = counts.cache_write_1h;
        usage.reasoning = counts.reasoning;
        usage.total_tokens = counts.total.unwrap_or_else(|| prompt.saturating_add(output));
        usage
    }
}
