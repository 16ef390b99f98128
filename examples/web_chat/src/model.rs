//! The model that the agents ask: the embedded demonstration, or the one that the environment's variables name.

use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use turnstate::model::{Model, StreamFn};
use turnstate::provider::{Genai, OpenAiCompatible, ReqwestTransport};

use crate::choice::{self, Choice};
use crate::demo;

/// How long the demonstration takes for each word, and the slow tool for each step.
const PACE: Duration = Duration::from_millis(30);

/// Prompts to begin with, for a real model.
const SUGGESTIONS: &[&str] = &[
    "Plan my week from my notes",
    "Search my notes for bread and for the garden, both at once",
    "Delete the old shopping list",
    "What is 17 * 23 + 4?",
];

/// The model that a server's agents ask.
#[derive(Clone)]
pub struct ChatModel {
    name: Model,
    introduction: String,
    /// `None`: the demonstration.
    server: Option<Arc<dyn StreamFn>>,
    pace: Duration,
}

impl ChatModel {
    /// The embedded demonstration, which takes this long for each word; its slow tool takes a few times as long for
    /// each step.
    #[must_use]
    pub fn demonstration(pace: Duration) -> Self {
        Self {
            name: Model::new("demonstration", "scripted"),
            introduction: Choice::Demonstration.introduction(),
            server: None,
            pace,
        }
    }

    /// The model that the environment's variables name, as the quickstart reads them.
    ///
    /// # Errors
    /// When they do not name a model that can be asked. The error is a sentence that says what to do.
    pub fn choose(variable: impl Fn(&str) -> Option<String>) -> Result<Self, String> {
        let chosen = choice::choose(variable).map_err(|advice| advice.to_string())?;
        let introduction = chosen.introduction();
        let (name, server): (_, Arc<dyn StreamFn>) = match chosen {
            Choice::Demonstration => return Ok(Self::demonstration(PACE)),
            Choice::OpenAiCompatible { model, base_url, key } => {
                let server = OpenAiCompatible::new(ReqwestTransport::new(), base_url);
                let server = key.into_iter().fold(server, OpenAiCompatible::with_api_key);
                (Model::new("openai-compatible", model).with_api("openai-completions"), Arc::new(server))
            }
            Choice::Genai { model, base_url, key } => {
                let server = base_url.into_iter().fold(Genai::new(), Genai::with_base_url);
                let server = key.into_iter().fold(server, Genai::with_api_key);
                // Without a provider: then the name says whose model it is.
                (Model::new("", model), Arc::new(server))
            }
        };
        Ok(Self { name, introduction, server: Some(server), pace: PACE })
    }

    /// Says who answers: nobody is to take the demonstration for a real model.
    #[must_use]
    pub fn introduction(&self) -> &str {
        &self.introduction
    }

    pub(crate) fn suggestions(&self) -> &'static [&'static str] {
        match self.server {
            None => demo::SUGGESTIONS,
            Some(_) => SUGGESTIONS,
        }
    }

    pub(crate) fn name(&self) -> &Model {
        &self.name
    }

    pub(crate) fn pace(&self) -> Duration {
        self.pace
    }

    /// The model for one conversation: the demonstration remembers what it has done.
    pub(crate) fn stream(&self) -> Arc<dyn StreamFn> {
        match &self.server {
            None => Arc::new(demo::stream_fn(self.pace)),
            Some(server) => server.clone(),
        }
    }
}

impl fmt::Debug for ChatModel {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("ChatModel").field("introduction", &self.introduction).finish_non_exhaustive()
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    type Variables = &'static [(&'static str, &'static str)];

    fn choose(variables: Variables) -> Result<ChatModel, String> {
        ChatModel::choose(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    const MODEL: (&str, &str) = ("TURNSTATE_MODEL", "small");
    const URL: (&str, &str) = ("TURNSTATE_BASE_URL", "https://user:secret@models.example:8080/v1");
    const KEY: (&str, &str) = ("TURNSTATE_API_KEY", "sk-1");
    const GENAI: (&str, &str) = ("TURNSTATE_PROVIDER", "genai");

    #[test]
    fn variables_name_a_model_and_no_secret_is_told() {
        let table: [(Variables, &str); 4] = [
            (&[], "The embedded demonstration model answers: it is scripted, but its tools are real."),
            (&[MODEL, URL, KEY], "small at models.example:8080 answers."),
            (&[MODEL, GENAI], "small answers, through genai."),
            (&[MODEL, URL, KEY, GENAI], "small at models.example:8080 answers, through genai."),
        ];
        for (variables, introduction) in table {
            let model = choose(variables).unwrap();
            assert_eq!(model.introduction(), introduction);
            assert_eq!(model.server.is_some(), !variables.is_empty());
            let debug = format!("{model:?}");
            assert!(!debug.contains("sk-1") && !debug.contains("secret"), "{debug}");
        }
        let advice = choose(&[KEY]).unwrap_err();
        assert!(advice.starts_with("TURNSTATE_API_KEY is set and nothing says"), "{advice}");
    }
}
