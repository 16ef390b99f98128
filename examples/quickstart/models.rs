//! Makes the model that was chosen ready to be asked.

use std::sync::Arc;

use turnstate::model::{Model, StreamFn};

use crate::choice::Choice;
use crate::demo_model;

/// The features without which no server is spoken to.
const FOR_OPENAI_COMPATIBLE: &str = "openai-compatible,transport-reqwest,rustls";
const FOR_GENAI: &str = "genai,rustls";

/// A model that can be asked.
pub(crate) struct Opened {
    pub(crate) stream: Arc<dyn StreamFn>,
    pub(crate) model: Model,
    /// The runtime that the model's HTTP client wants to be inside of.
    pub(crate) runtime: Option<tokio::runtime::Runtime>,
}

impl Choice {
    /// Makes the model ready to be asked; an error is a sentence that says what to do. `words` are the command line's, for
    /// that sentence.
    pub(crate) fn open(self, words: &[String]) -> Result<Opened, String> {
        match self {
            Self::Demonstration => Ok(Opened {
                stream: Arc::new(demo_model::stream_fn()),
                model: demo_model::model(),
                runtime: None,
            }),
            Self::OpenAiCompatible { model, base_url, key } => {
                openai_compatible(model, &base_url, key, words)
            }
            Self::Genai { model, base_url, key } => genai(model, base_url, key, words),
        }
    }
}

#[cfg(all(feature = "openai-compatible", feature = "transport-reqwest"))]
fn openai_compatible(
    model: String,
    base_url: &str,
    key: Option<String>,
    words: &[String],
) -> Result<Opened, String> {
    use turnstate::provider::{OpenAiCompatible, ReqwestTransport};

    if base_url.starts_with("https://") && !cfg!(feature = "rustls") {
        return Err(not_built_in(FOR_OPENAI_COMPATIBLE, words));
    }
    let server = OpenAiCompatible::new(ReqwestTransport::new(), base_url);
    let server = match key {
        Some(key) => server.with_api_key(key),
        None => server,
    };
    Ok(Opened {
        stream: Arc::new(server),
        model: Model::new("openai-compatible", model).with_api("openai-completions"),
        runtime: Some(runtime()?),
    })
}

#[cfg(not(all(feature = "openai-compatible", feature = "transport-reqwest")))]
fn openai_compatible(_: String, _: &str, _: Option<String>, words: &[String]) -> Result<Opened, String> {
    Err(not_built_in(FOR_OPENAI_COMPATIBLE, words))
}

#[cfg(feature = "genai")]
fn genai(
    model: String,
    base_url: Option<String>,
    key: Option<String>,
    words: &[String],
) -> Result<Opened, String> {
    use turnstate::provider::Genai;

    let is_plain = base_url.as_ref().is_some_and(|url| url.starts_with("http://"));
    if !is_plain && !cfg!(feature = "rustls") {
        return Err(not_built_in(FOR_GENAI, words));
    }
    let mut provider = Genai::new();
    if let Some(url) = &base_url {
        provider = provider.with_base_url(url);
    }
    if let Some(key) = key {
        provider = provider.with_api_key(key);
    }
    Ok(Opened {
        stream: Arc::new(provider),
        // Without a provider: then the name says whose model it is.
        model: Model::new("", model),
        runtime: Some(runtime()?),
    })
}

#[cfg(not(feature = "genai"))]
fn genai(_: String, _: Option<String>, _: Option<String>, words: &[String]) -> Result<Opened, String> {
    Err(not_built_in(FOR_GENAI, words))
}

/// Both HTTP clients do their input and output on Tokio. One thread does, whatever executor drives the run.
#[cfg(any(feature = "genai", feature = "transport-reqwest"))]
fn runtime() -> Result<tokio::runtime::Runtime, String> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| format!("No runtime for the HTTP client can be started: {error}"))
}

/// The program was built without what the choice needs.
fn not_built_in(features: &str, words: &[String]) -> String {
    let words = if words.is_empty() { String::new() } else { format!(" -- {}", quoted(&words.join(" "))) };
    format!(
        "A real model is named, and this program was built without the features to reach it. Type:\n\n  \
         cargo run --example quickstart --features {features}{words}"
    )
}

/// The text as one word for a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    #[test]
    fn what_is_not_built_in_names_the_command_with_the_persons_own_words() {
        let advice = |words: &[&str]| {
            let words: Vec<_> = words.iter().map(|word| (*word).to_owned()).collect();
            not_built_in(FOR_OPENAI_COMPATIBLE, &words)
        };
        let command =
            "  cargo run --example quickstart --features openai-compatible,transport-reqwest,rustls";
        assert_eq!(advice(&[]).lines().last().unwrap(), command);
        assert_eq!(
            advice(&["What's", "here?"]).lines().last().unwrap(),
            format!(r"{command} -- 'What'\''s here?'")
        );
    }
}
