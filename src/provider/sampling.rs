//! The sampling parameters of a request, as far as they are any.

use serde_json::Value;

use crate::model::RequestOptions;

/// What a request is, by every protocol's names: which model is asked, with what, and how it answers.
///
/// Sampling parameters tune an answer, and are nobody's way to ask another model or for something else: a proxy passes
/// on those of its clients.
const THE_REQUEST_ITSELF: [&str; 16] = [
    "model",
    "models",
    "messages",
    "system",
    "input",
    "instructions",
    "contents",
    "systemInstruction",
    "system_instruction",
    "prompt",
    "conversation",
    "previous_response_id",
    "stream",
    "stream_options",
    "tools",
    "functions",
];

/// Names and values of what tunes the answer.
pub(crate) fn sampling_params(options: &RequestOptions) -> impl Iterator<Item = (&str, &Value)> {
    let named = options.sampling_params.iter().flatten().map(|(name, value)| (name.as_str(), value));
    named.filter(|(name, _)| !THE_REQUEST_ITSELF.contains(name))
}
