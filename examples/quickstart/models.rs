//! Which model answers. Environment variables say it:
//!
//! | variable | what it names |
//! |---|---|
//! | `TURNSTATE_MODEL` | the model, by the name its server gives it |
//! | `TURNSTATE_BASE_URL` | the server, as `http://127.0.0.1:11434/v1` |
//! | `TURNSTATE_API_KEY` | the key, where the server wants one |
//! | `TURNSTATE_PROVIDER` | `openai-compatible`, which is meant where nothing is said, or `genai` |
//!
//! `genai` finds the server by the model's name (`claude-sonnet-4-5`, `groq::llama-3.3-70b`), and the key in that provider's own
//! variable (`ANTHROPIC_API_KEY`), where the two above say nothing.
//!
//! Without any of them the embedded demonstration model answers.

use std::fmt;
use std::sync::Arc;

use turnstate::model::{Model, StreamFn};

use crate::demo_model;

/// The variable that holds a secret: no command that the model runs is to see it.
pub(crate) const KEY: &str = "TURNSTATE_API_KEY";

/// Where the server is: it may hold a password.
pub(crate) const BASE_URL: &str = "TURNSTATE_BASE_URL";

/// The features without which no server is spoken to.
const FOR_OPENAI_COMPATIBLE: &str = "openai-compatible,transport-reqwest,rustls";
const FOR_GENAI: &str = "genai,rustls";

/// A model as the variables name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Choice {
    Demonstration,
    OpenAiCompatible { model: String, base_url: String, key: Option<String> },
    Genai { model: String, base_url: Option<String>, key: Option<String> },
}

/// A model that can be asked.
pub(crate) struct Opened {
    pub(crate) stream: Arc<dyn StreamFn>,
    pub(crate) model: Model,
    /// Says who answers.
    pub(crate) notice: String,
    /// The runtime that the model's HTTP client wants to be inside of.
    pub(crate) runtime: Option<tokio::runtime::Runtime>,
}

/// Why no model can be asked, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Advice {
    NoModel,
    NoServer {
        named: &'static str,
    },
    NotAUrl(String),
    WholePath(String),
    UnknownProvider(String),
    /// The program was built without what the choice needs.
    NotBuiltIn {
        features: &'static str,
        words: Vec<String>,
    },
    #[cfg_attr(
        not(feature = "transport-reqwest"),
        allow(dead_code, reason = "only an HTTP client needs one")
    )]
    NoRuntime(String),
}

/// Reads the variables. Empty ones count as not set.
pub(crate) fn choose(variable: impl Fn(&str) -> Option<String>) -> Result<Choice, Advice> {
    let get = |name| variable(name).map(|value| value.trim().to_owned()).filter(|value| !value.is_empty());
    let (model, base_url, key) = (get("TURNSTATE_MODEL"), get(BASE_URL), get(KEY));
    match get("TURNSTATE_PROVIDER").as_deref() {
        None if model.is_none() && base_url.is_none() && key.is_none() => Ok(Choice::Demonstration),
        None | Some("openai-compatible") => {
            let named = match (&model, &key) {
                (Some(_), _) => "TURNSTATE_MODEL",
                (None, Some(_)) => KEY,
                (None, None) => "TURNSTATE_PROVIDER",
            };
            let base_url = checked_url(base_url.ok_or(Advice::NoServer { named })?)?;
            Ok(Choice::OpenAiCompatible { model: model.ok_or(Advice::NoModel)?, base_url, key })
        }
        Some("genai") => Ok(Choice::Genai {
            model: model.ok_or(Advice::NoModel)?,
            base_url: base_url.map(checked_url).transpose()?,
            key,
        }),
        Some(other) => Err(Advice::UnknownProvider(other.to_owned())),
    }
}

fn checked_url(url: String) -> Result<String, Advice> {
    let has_host = ["http://", "https://"]
        .iter()
        .filter_map(|scheme| url.strip_prefix(scheme))
        .any(|rest| !rest.is_empty() && !rest.starts_with('/'));
    if !has_host {
        Err(Advice::NotAUrl(url))
    } else if url.trim_end_matches('/').ends_with("/chat/completions") {
        Err(Advice::WholePath(url))
    } else {
        Ok(url)
    }
}

impl Choice {
    /// Makes the model ready to be asked. `words` are the command line's, for the advice.
    pub(crate) fn open(self, words: &[String]) -> Result<Opened, Advice> {
        match self {
            Self::Demonstration => Ok(Opened {
                stream: Arc::new(demo_model::stream_fn()),
                model: demo_model::model(),
                notice: demo_model::NOTICE.to_owned(),
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
) -> Result<Opened, Advice> {
    use turnstate::provider::{OpenAiCompatible, ReqwestTransport};

    if base_url.starts_with("https://") && !cfg!(feature = "rustls") {
        return Err(Advice::NotBuiltIn { features: FOR_OPENAI_COMPATIBLE, words: words.to_vec() });
    }
    let server = OpenAiCompatible::new(ReqwestTransport::new(), base_url);
    let server = match key {
        Some(key) => server.with_api_key(key),
        None => server,
    };
    Ok(Opened {
        stream: Arc::new(server),
        notice: format!("({model} at {} answers.)", host_of(base_url)),
        model: Model::new("openai-compatible", model).with_api("openai-completions"),
        runtime: Some(runtime()?),
    })
}

#[cfg(not(all(feature = "openai-compatible", feature = "transport-reqwest")))]
fn openai_compatible(_: String, _: &str, _: Option<String>, words: &[String]) -> Result<Opened, Advice> {
    Err(Advice::NotBuiltIn { features: FOR_OPENAI_COMPATIBLE, words: words.to_vec() })
}

#[cfg(feature = "genai")]
fn genai(
    model: String,
    base_url: Option<String>,
    key: Option<String>,
    words: &[String],
) -> Result<Opened, Advice> {
    use turnstate::provider::Genai;

    let is_plain = base_url.as_ref().is_some_and(|url| url.starts_with("http://"));
    if !is_plain && !cfg!(feature = "rustls") {
        return Err(Advice::NotBuiltIn { features: FOR_GENAI, words: words.to_vec() });
    }
    let mut provider = Genai::new();
    if let Some(url) = &base_url {
        provider = provider.with_base_url(url);
    }
    if let Some(key) = key {
        provider = provider.with_api_key(key);
    }
    let place = base_url.as_deref().map(|url| format!(" at {}", host_of(url))).unwrap_or_default();
    Ok(Opened {
        stream: Arc::new(provider),
        notice: format!("({model}{place} answers, through genai.)"),
        // Without a provider: then the name says whose model it is.
        model: Model::new("", model),
        runtime: Some(runtime()?),
    })
}

#[cfg(not(feature = "genai"))]
fn genai(_: String, _: Option<String>, _: Option<String>, words: &[String]) -> Result<Opened, Advice> {
    Err(Advice::NotBuiltIn { features: FOR_GENAI, words: words.to_vec() })
}

/// Both HTTP clients do their input and output on Tokio. One thread does, whatever executor drives the run.
#[cfg(any(feature = "genai", feature = "transport-reqwest"))]
fn runtime() -> Result<tokio::runtime::Runtime, Advice> {
    tokio::runtime::Builder::new_multi_thread()
        .worker_threads(1)
        .enable_all()
        .build()
        .map_err(|error| Advice::NoRuntime(error.to_string()))
}

/// Host and port: the rest of a URL may hold a secret.
#[cfg_attr(
    not(any(feature = "genai", feature = "openai-compatible")),
    allow(dead_code, reason = "only real models have a host")
)]
fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    authority.rsplit('@').next().unwrap_or_default()
}

impl fmt::Display for Advice {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::NoModel => f.write_str(
                "A server is chosen and nothing names a model: set TURNSTATE_MODEL to one that it has, by its name there.",
            ),
            Self::NoServer { named } => write!(
                f,
                "{named} is set and nothing says which server is meant: set TURNSTATE_BASE_URL, as \
                 http://127.0.0.1:11434/v1 for a local one or https://api.openai.com/v1 for a hosted one, or \
                 TURNSTATE_PROVIDER=genai, which finds it by the model's name. To talk to the demonstration model, \
                 unset {named}."
            ),
            Self::NotAUrl(url) => write!(
                f,
                "TURNSTATE_BASE_URL is `{url}`, which is no address of a server: write it with its scheme, as \
                 http://127.0.0.1:11434/v1."
            ),
            Self::WholePath(url) => write!(
                f,
                "TURNSTATE_BASE_URL is `{url}`: leave `/chat/completions` off, it is added to every request."
            ),
            Self::UnknownProvider(name) => {
                write!(f, "TURNSTATE_PROVIDER is `{name}`, which nobody here knows: set it to openai-compatible or to genai.")
            }
            Self::NotBuiltIn { features, words } => {
                write!(
                    f,
                    "A real model is named, and this program was built without the features to reach it. Type:\n\n  \
                     cargo run --example quickstart --features {features}"
                )?;
                if words.is_empty() { Ok(()) } else { write!(f, " -- {}", quoted(&words.join(" "))) }
            }
            Self::NoRuntime(error) => write!(f, "No runtime for the HTTP client can be started: {error}"),
        }
    }
}

/// The text as one word for a shell.
fn quoted(text: &str) -> String {
    format!("'{}'", text.replace('\'', r"'\''"))
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests")]
mod tests {
    use super::*;

    fn chosen(variables: &[(&str, &str)]) -> Result<Choice, Advice> {
        choose(|name| {
            variables.iter().find(|(known, _)| *known == name).map(|(_, value)| (*value).to_owned())
        })
    }

    #[test]
    fn the_variables_choose_the_model() {
        let server = |key: Option<&str>| Choice::OpenAiCompatible {
            model: "m".to_owned(),
            base_url: "http://127.0.0.1:1/v1".to_owned(),
            key: key.map(str::to_owned),
        };
        let (model, url) = (("TURNSTATE_MODEL", "m"), ("TURNSTATE_BASE_URL", "http://127.0.0.1:1/v1"));
        assert_eq!(chosen(&[]), Ok(Choice::Demonstration));
        assert_eq!(chosen(&[("TURNSTATE_MODEL", ""), (KEY, " ")]), Ok(Choice::Demonstration));
        assert_eq!(chosen(&[model, url]), Ok(server(None)));
        assert_eq!(chosen(&[model, url, (KEY, "k")]), Ok(server(Some("k"))));
        assert_eq!(chosen(&[model, url, ("TURNSTATE_PROVIDER", "openai-compatible")]), Ok(server(None)));
        let genai = |base_url: Option<&str>, key: Option<&str>| Choice::Genai {
            model: "m".to_owned(),
            base_url: base_url.map(str::to_owned),
            key: key.map(str::to_owned),
        };
        let by_name = ("TURNSTATE_PROVIDER", "genai");
        assert_eq!(chosen(&[model, by_name]), Ok(genai(None, None)));
        assert_eq!(chosen(&[model, by_name, url, (KEY, "k")]), Ok(genai(Some(url.1), Some("k"))));
    }

    #[test]
    fn half_of_the_variables_or_wrong_ones_give_a_sentence_that_says_what_to_do() {
        let url = ("TURNSTATE_BASE_URL", "http://127.0.0.1:1/v1");
        for (variables, advice) in [
            (
                &[("TURNSTATE_MODEL", "m")][..],
                "TURNSTATE_MODEL is set and nothing says which server is meant: set TURNSTATE_BASE_URL, as \
                 http://127.0.0.1:11434/v1 for a local one or https://api.openai.com/v1 for a hosted one, or \
                 TURNSTATE_PROVIDER=genai, which finds it by the model's name. To talk to the demonstration model, \
                 unset TURNSTATE_MODEL.",
            ),
            (
                &[(KEY, "secret")],
                "TURNSTATE_API_KEY is set and nothing says which server is meant: set TURNSTATE_BASE_URL, as \
                 http://127.0.0.1:11434/v1 for a local one or https://api.openai.com/v1 for a hosted one, or \
                 TURNSTATE_PROVIDER=genai, which finds it by the model's name. To talk to the demonstration model, \
                 unset TURNSTATE_API_KEY.",
            ),
            (
                &[url],
                "A server is chosen and nothing names a model: set TURNSTATE_MODEL to one that it has, by its name there.",
            ),
            (
                &[("TURNSTATE_PROVIDER", "genai")],
                "A server is chosen and nothing names a model: set TURNSTATE_MODEL to one that it has, by its name there.",
            ),
            (
                &[("TURNSTATE_PROVIDER", "genai"), ("TURNSTATE_MODEL", "m"), ("TURNSTATE_BASE_URL", "here")],
                "TURNSTATE_BASE_URL is `here`, which is no address of a server: write it with its scheme, as \
                 http://127.0.0.1:11434/v1.",
            ),
            (
                &[("TURNSTATE_BASE_URL", "localhost:11434"), ("TURNSTATE_MODEL", "m")],
                "TURNSTATE_BASE_URL is `localhost:11434`, which is no address of a server: write it with its \
                 scheme, as http://127.0.0.1:11434/v1.",
            ),
            (
                &[("TURNSTATE_BASE_URL", "https:///v1"), ("TURNSTATE_MODEL", "m")],
                "TURNSTATE_BASE_URL is `https:///v1`, which is no address of a server: write it with its scheme, \
                 as http://127.0.0.1:11434/v1.",
            ),
            (
                &[("TURNSTATE_BASE_URL", "http://h/v1/chat/completions/"), ("TURNSTATE_MODEL", "m")],
                "TURNSTATE_BASE_URL is `http://h/v1/chat/completions/`: leave `/chat/completions` off, it is added \
                 to every request.",
            ),
            (
                &[("TURNSTATE_PROVIDER", "magic"), url],
                "TURNSTATE_PROVIDER is `magic`, which nobody here knows: set it to openai-compatible or to genai.",
            ),
        ] {
            assert_eq!(chosen(variables).unwrap_err().to_string(), advice, "{variables:?}");
        }
    }

    #[test]
    fn what_is_not_built_in_names_the_command_with_the_persons_own_words() {
        let advice = |words: &[&str]| {
            let words = words.iter().map(|word| (*word).to_owned()).collect();
            Advice::NotBuiltIn { features: FOR_OPENAI_COMPATIBLE, words }.to_string()
        };
        let command =
            "  cargo run --example quickstart --features openai-compatible,transport-reqwest,rustls";
        assert_eq!(advice(&[]).lines().last().unwrap(), command);
        assert_eq!(
            advice(&["What's", "here?"]).lines().last().unwrap(),
            format!(r"{command} -- 'What'\''s here?'")
        );
    }

    #[test]
    fn the_notice_shows_no_secret_of_the_url() {
        assert_eq!(host_of("https://me:pw@api.test:8/v1?key=k"), "api.test:8");
        assert_eq!(host_of("http://127.0.0.1:11434/v1"), "127.0.0.1:11434");
    }
}
