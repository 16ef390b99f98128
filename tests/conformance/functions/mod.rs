//! The vectors: inputs and answers of single functions.

mod arguments;
mod nested;
#[cfg(feature = "proxy")]
mod proxy;
mod sessions;
mod transcript;
mod validate;

use serde_json::Value;

use crate::compare;

/// What came of one vector.
pub(crate) enum Verdict {
    Agrees,
    Differs(String),
    /// It differs, in a way that is decided on.
    Excused(&'static str),
}

/// Replays one vector.
pub(crate) fn check(kind: &str, vector: &Value) -> Verdict {
    match kind {
        "replay" => transcript::replay(vector),
        "tool_diff" => transcript::tool_diff(vector),
        "sessions" => sessions::check(vector),
        "salvage" => arguments::salvage(vector),
        "final_args" => arguments::complete(vector),
        "run_tool_call" => nested::run_tool_call(vector),
        "validate" => validate::check(vector),
        #[cfg(feature = "proxy")]
        "proxy_stream" => proxy::stream(vector),
        #[cfg(feature = "proxy")]
        "proxy_request" => proxy::request(vector),
        #[cfg(not(feature = "proxy"))]
        "proxy_stream" | "proxy_request" => Verdict::Excused("built without the feature `proxy`"),
        other => Verdict::Differs(format!("vectors of no known kind: {other}")),
    }
}

/// Compares an answer with the one that is expected, or with that of the older version.
fn compared(ours: &Value, vector: &Value) -> Verdict {
    match compare::difference("answer", ours, &vector["expect"]) {
        None => Verdict::Agrees,
        Some(_) if vector.get("v1_4").is_some_and(|older| compare::same(ours, older)) => Verdict::Agrees,
        Some(difference) => Verdict::Differs(difference),
    }
}
