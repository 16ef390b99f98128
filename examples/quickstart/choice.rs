//! Which model answers. Environment variables say it, for the quickstart and for the web chat:
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

/// The variable that holds a secret.
pub(crate) const KEY: &str = "TURNSTATE_API_KEY";

/// Where the server is: it may hold a password, so it is never shown.
pub(crate) const BASE_URL: &str = "TURNSTATE_BASE_URL";

/// A model as the variables name it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Choice {
    Demonstration,
    OpenAiCompatible { model: String, base_url: String, key: Option<String> },
    Genai { model: String, base_url: Option<String>, key: Option<String> },
}

/// Why the variables name no model, and what to do about it.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) enum Advice {
    NoModel,
    NoServer { named: &'static str },
    NotAUrl,
    WholePath,
    UnknownProvider(String),
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
    let path = url.split(['?', '#']).next().unwrap_or_default();
    if !has_host {
        Err(Advice::NotAUrl)
    } else if path.trim_end_matches('/').ends_with("/chat/completions") {
        Err(Advice::WholePath)
    } else {
        Ok(url)
    }
}

impl Choice {
    /// Says who answers: nobody is to take the demonstration for a real model.
    pub(crate) fn introduction(&self) -> String {
        match self {
            Self::Demonstration => {
                "The embedded demonstration model answers: it is scripted, but its tools are real.".to_owned()
            }
            Self::OpenAiCompatible { model, base_url, .. } => {
                format!("{model} at {} answers.", host_of(base_url))
            }
            Self::Genai { model, base_url: Some(url), .. } => {
                format!("{model} at {} answers, through genai.", host_of(url))
            }
            Self::Genai { model, base_url: None, .. } => format!("{model} answers, through genai."),
        }
    }
}

/// Host and port: the rest of a URL may hold a secret. Where it cannot be told which is which, nothing is shown.
fn host_of(url: &str) -> &str {
    let rest = url.split_once("://").map_or(url, |(_, rest)| rest);
    let authority = rest.split(['/', '?', '#']).next().unwrap_or_default();
    match authority.rsplit_once('@') {
        Some((_, host)) => host,
        None if rest.contains('@') => "…",
        None => authority,
    }
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
            Self::NotAUrl => f.write_str(
                "TURNSTATE_BASE_URL is no address of a server: write it with its scheme, as http://127.0.0.1:11434/v1.",
            ),
            Self::WholePath => f.write_str(
                "TURNSTATE_BASE_URL ends in `/chat/completions`: leave that off, it is added to every request.",
            ),
            Self::UnknownProvider(name) => {
                write!(f, "TURNSTATE_PROVIDER is `{name}`, which nobody here knows: set it to openai-compatible or to genai.")
            }
        }
    }
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

    /// It does not repeat what was set, which may hold a password.
    const NOT_A_URL: &str = "TURNSTATE_BASE_URL is no address of a server: write it with its scheme, as http://127.0.0.1:11434/v1.";

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
                NOT_A_URL,
            ),
            (&[("TURNSTATE_BASE_URL", "localhost:11434"), ("TURNSTATE_MODEL", "m")], NOT_A_URL),
            (&[("TURNSTATE_BASE_URL", "https:///v1"), ("TURNSTATE_MODEL", "m")], NOT_A_URL),
            (
                &[("TURNSTATE_BASE_URL", "http://h/v1/chat/completions/?a=b"), ("TURNSTATE_MODEL", "m")],
                "TURNSTATE_BASE_URL ends in `/chat/completions`: leave that off, it is added to every request.",
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
    fn who_answers_is_said_without_a_secret_of_the_url() {
        let genai = Choice::Genai {
            model: "m".to_owned(),
            base_url: Some("https://me:pw@h/v1".to_owned()),
            key: None,
        };
        assert_eq!(genai.introduction(), "m at h answers, through genai.");
        assert_eq!(host_of("https://me:pw@api.test:8/v1?key=k"), "api.test:8");
        assert_eq!(host_of("http://127.0.0.1:11434/v1"), "127.0.0.1:11434");
        assert_eq!(host_of("https://me:p/w@api.test:8/v1"), "…");
    }
}
