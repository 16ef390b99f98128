//! Which model answers. Environment variables say it, the same as for the quickstart:
//!
//! | variable | what it names |
//! |---|---|
//! | `TURNSTATE_MODEL` | the model, by the name its server gives it |
//! | `TURNSTATE_BASE_URL` | the server, as `http://127.0.0.1:11434/v1` |
//! | `TURNSTATE_API_KEY` | the key, where the server wants one |
//! | `TURNSTATE_PROVIDER` | `openai-compatible`, which is meant where nothing is said |
//!
//! Without any of them the embedded demonstration model answers.

use std::error::Error;
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

use turnstate::model::{Model, StreamFn};
use turnstate::provider::{OpenAiCompatible, ReqwestTransport};

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
#[derive(Debug, Clone)]
pub struct ChatModel {
    name: Model,
    kind: Kind,
    pace: Duration,
}

#[derive(Debug, Clone)]
enum Kind {
    Demonstration,
    Server { server: OpenAiCompatible, host: String },
}

/// Why no model can be asked, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
#[non_exhaustive]
pub enum Advice {
    /// A server without a model.
    NoModel,
    /// A model, a key or a provider without a server.
    NoServer,
    /// A server's address that is none.
    NotAUrl(String),
    /// A provider that this program does not know.
    UnknownProvider(String),
}

impl ChatModel {
    /// The embedded demonstration, which takes this long for each word; its slow tool takes a few times as long for
    /// each step.
    #[must_use]
    pub fn demonstration(pace: Duration) -> Self {
        Self { name: Model::new("demonstration", "scripted"), kind: Kind::Demonstration, pace }
    }

    /// The model that the environment's variables name. Empty ones count as not set.
    ///
    /// # Errors
    /// When they do not name a model that can be asked.
    pub fn choose(variable: impl Fn(&str) -> Option<String>) -> Result<Self, Advice> {
        let get =
            |name| variable(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
        let (model, base_url) = (get("TURNSTATE_MODEL"), get("TURNSTATE_BASE_URL"));
        let (key, provider) = (get("TURNSTATE_API_KEY"), get("TURNSTATE_PROVIDER"));
        match provider.as_deref() {
            None if model.is_none() && base_url.is_none() && key.is_none() => {
                return Ok(Self::demonstration(PACE));
            }
            None | Some("openai-compatible") => {}
            Some(other) => return Err(Advice::UnknownProvider(other.to_owned())),
        }
        let base_url = base_url.ok_or(Advice::NoServer)?;
        let host = host_of(&base_url).ok_or_else(|| Advice::NotAUrl(base_url.clone()))?.to_owned();
        let name =
            Model::new("openai-compatible", model.ok_or(Advice::NoModel)?).with_api("openai-completions");
        let server = OpenAiCompatible::new(ReqwestTransport::new(), &base_url);
        let server = match key {
            Some(key) => server.with_api_key(key),
            None => server,
        };
        Ok(Self { name, kind: Kind::Server { server, host }, pace: PACE })
    }

    /// Says who answers: nobody is to take the demonstration for a real model.
    #[must_use]
    pub fn introduction(&self) -> String {
        match &self.kind {
            Kind::Demonstration => {
                "The embedded demonstration model answers: it is scripted, but its tools are real.".to_owned()
            }
            Kind::Server { host, .. } => format!("{} at {host} answers.", self.name.id),
        }
    }

    pub(crate) fn suggestions(&self) -> &'static [&'static str] {
        match &self.kind {
            Kind::Demonstration => demo::SUGGESTIONS,
            Kind::Server { .. } => SUGGESTIONS,
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
        match &self.kind {
            Kind::Demonstration => Arc::new(demo::stream_fn(self.pace)),
            Kind::Server { server, .. } => Arc::new(server.clone()),
        }
    }
}

/// Host and port of a URL: the rest may hold a secret.
fn host_of(url: &str) -> Option<&str> {
    let rest = url.strip_prefix("http://").or_else(|| url.strip_prefix("https://"))?;
    let authority = rest.split(['/', '?', '#']).next()?;
    authority.rsplit('@').next().filter(|host| !host.is_empty())
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoModel => f.write_str("TURNSTATE_BASE_URL names a server: set TURNSTATE_MODEL to a model that it has."),
            Self::NoServer => f.write_str(
                "Nothing says which server is meant: set TURNSTATE_BASE_URL, as http://127.0.0.1:11434/v1 for a local \
                 one, or unset the other variables to talk to the demonstration model.",
            ),
            Self::NotAUrl(url) => write!(
                f,
                "TURNSTATE_BASE_URL is `{url}`, which is no address of a server: write it as \
                 http://127.0.0.1:11434/v1."
            ),
            Self::UnknownProvider(name) => write!(
                f,
                "TURNSTATE_PROVIDER is `{name}`, which this program does not know: set it to openai-compatible."
            ),
        }
    }
}

impl Error for Advice {}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    type Variables = &'static [(&'static str, &'static str)];

    fn choose(variables: Variables) -> Result<ChatModel, Advice> {
        ChatModel::choose(|name| {
            let found = variables.iter().find(|(known, _)| *known == name);
            found.map(|(_, value)| (*value).to_owned())
        })
    }

    const MODEL: (&str, &str) = ("TURNSTATE_MODEL", "small");
    const URL: (&str, &str) = ("TURNSTATE_BASE_URL", "https://user:secret@models.example:8080/v1");
    const KEY: (&str, &str) = ("TURNSTATE_API_KEY", "sk-1");

    #[test]
    fn variables_name_a_model_and_no_secret_is_told() {
        let demonstration =
            "The embedded demonstration model answers: it is scripted, but its tools are real.";
        let server = "small at models.example:8080 answers.";
        let table: [(Variables, &str); 4] = [
            (&[], demonstration),
            (&[("TURNSTATE_MODEL", " "), ("TURNSTATE_PROVIDER", "")], demonstration),
            (&[MODEL, URL], server),
            (&[MODEL, URL, KEY, ("TURNSTATE_PROVIDER", "openai-compatible")], server),
        ];
        for (variables, introduction) in table {
            let model = choose(variables).unwrap();
            assert_eq!(model.introduction(), introduction);
            let debug = format!("{model:?}");
            assert!(!debug.contains("sk-1") && !debug.contains("secret"), "{debug}");
        }
    }

    #[test]
    fn variables_that_name_none_are_answered_with_advice() {
        let table: [(Variables, Advice); 6] = [
            (&[MODEL], Advice::NoServer),
            (&[KEY], Advice::NoServer),
            (&[URL], Advice::NoModel),
            (
                &[MODEL, ("TURNSTATE_BASE_URL", "models.example")],
                Advice::NotAUrl("models.example".to_owned()),
            ),
            (&[MODEL, ("TURNSTATE_BASE_URL", "http:///v1")], Advice::NotAUrl("http:///v1".to_owned())),
            (&[MODEL, URL, ("TURNSTATE_PROVIDER", "magic")], Advice::UnknownProvider("magic".to_owned())),
        ];
        for (variables, advice) in table {
            assert_eq!(choose(variables).map(|model| model.introduction()), Err(advice));
        }
    }
}
