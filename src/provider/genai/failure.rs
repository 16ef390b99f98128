//! genai's errors as failed answers.

use std::error::Error;
use std::fmt;

use genai::webc;

use super::protocol::Protocol;
use crate::error_text::{excerpt, write_chain};
use crate::model::Failure;
use crate::provider::http_error;
use crate::provider::transport::HttpHeaders;

/// How the provider is called in error texts.
const WHO: &str = "the provider";

/// How much of an error without words is shown, in bytes.
const SHOWN: usize = 200;

/// What an error of genai's means.
pub(super) enum Wrong {
    /// The provider answered with an error status.
    Status { status: u16, headers: HttpHeaders, body: String },
    /// Anything else, in words.
    Words(String),
}

impl Wrong {
    /// `has_begun`: the provider had begun to answer.
    pub(super) fn from(error: &genai::Error, protocol: Protocol, has_begun: bool) -> Self {
        if let Some(status) = error_status(error) {
            return status;
        }
        Self::Words(match error {
            genai::Error::WebStream { error, .. } => match error.downcast_ref::<genai::Error>() {
                Some(inner) => return Self::from(inner, protocol, has_begun),
                None => connection(&**error, has_begun),
            },
            genai::Error::WebModelCall { webc_error, .. }
            | genai::Error::WebAdapterCall { webc_error, .. } => connection(webc_error, has_begun),
            genai::Error::ChatResponse { body, .. } => {
                let said = http_error::words_in(body).unwrap_or_else(|| excerpt(&body.to_string(), SHOWN));
                format!("{WHO}'s answer failed: {said}")
            }
            // With these protocols genai reports so what the provider itself says of a failed answer.
            genai::Error::StreamParse { serde_error, .. }
                if matches!(protocol, Protocol::Responses | Protocol::Interactions) =>
            {
                format!("{WHO}'s answer failed: {serde_error}")
            }
            genai::Error::StreamParse { serde_error, .. } => {
                format!("{WHO} sent an event that cannot be read ({serde_error})")
            }
            error if has_begun => format!("{WHO} sent an event that cannot be read ({})", in_one_line(error)),
            error => format!("the request cannot be sent: {}", in_one_line(error)),
        })
    }

    pub(super) fn into_failure(self) -> Failure {
        match self {
            Self::Status { status, headers, body } => {
                http_error::failure(WHO, status, &headers, body.as_bytes())
            }
            Self::Words(words) => Failure::new(words),
        }
    }
}

fn error_status(error: &genai::Error) -> Option<Wrong> {
    let body = match error {
        genai::Error::HttpError { body, .. } => body,
        genai::Error::WebModelCall { webc_error, .. } | genai::Error::WebAdapterCall { webc_error, .. } => {
            let webc::Error::ResponseFailedStatus { body, .. } = webc_error else { return None };
            body
        }
        _ => return None,
    };
    let headers = error.headers().into_iter().flatten();
    let headers = headers.map(|(name, value)| (name.as_str(), String::from_utf8_lossy(value.as_bytes())));
    Some(Wrong::Status { status: error.status()?.as_u16(), headers: headers.collect(), body: body.clone() })
}

fn connection(error: &(dyn Error + 'static), has_begun: bool) -> String {
    let words = WithoutUrl(error).to_string();
    match has_begun {
        true => format!("the connection to {WHO} broke: {words}"),
        // Without TLS the HTTP client knows no `https`, and says no more than this.
        false if words.ends_with("scheme is not http") => {
            format!("{WHO} cannot be reached: {words} (`https` needs the feature `rustls`)")
        }
        false => format!("{WHO} cannot be reached: {words}"),
    }
}

/// The text of an error and of those behind it. The HTTP client names the URL at the end of its own text, and a URL may
/// hold keys.
struct WithoutUrl<'e>(&'e (dyn Error + 'static));

impl fmt::Display for WithoutUrl<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let own = self.0.to_string();
        match own.split_once(" for url (") {
            None => write_chain(self.0, f),
            Some((before, _)) => {
                f.write_str(before)?;
                let Some(source) = self.0.source() else { return Ok(()) };
                f.write_str(": ")?;
                write_chain(source, f)
            }
        }
    }
}

/// genai puts the cause into a line of its own.
fn in_one_line(error: &genai::Error) -> String {
    let text = error.to_string();
    let lines = text.lines().map(str::trim).filter(|line| !line.is_empty());
    excerpt(&lines.collect::<Vec<_>>().join(" "), SHOWN * 5)
}

#[cfg(test)]
mod tests {
    use genai::ModelIden;
    use genai::adapter::AdapterKind;
    use serde_json::json;

    use super::*;

    fn said(error: &genai::Error, protocol: Protocol, has_begun: bool) -> String {
        Wrong::from(error, protocol, has_begun).into_failure().message
    }

    fn model() -> ModelIden {
        ModelIden::new(AdapterKind::OpenAI, "m")
    }

    /// As the HTTP client's errors look.
    #[derive(Debug)]
    struct Client;

    impl fmt::Display for Client {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            f.write_str("error sending request for url (http://u:p@host/?key=secret)")
        }
    }

    impl Error for Client {
        fn source(&self) -> Option<&(dyn Error + 'static)> {
            Some(&fmt::Error)
        }
    }

    #[test]
    fn a_broken_connection_is_told_without_the_url() {
        let error =
            |inner| genai::Error::WebStream { model_iden: model(), cause: String::new(), error: inner };
        let words = format!("error sending request: {}", fmt::Error);
        let text = said(&error(Box::new(Client)), Protocol::OpenAi, false);
        assert_eq!(text, format!("the provider cannot be reached: {words}"));
        let text = said(&error(Box::new(Client)), Protocol::OpenAi, true);
        assert_eq!(text, format!("the connection to the provider broke: {words}"));
        let text = said(&error("invalid URL, scheme is not http".into()), Protocol::OpenAi, false);
        assert!(text.ends_with("scheme is not http (`https` needs the feature `rustls`)"), "{text}");
    }

    #[test]
    fn what_the_provider_says_in_mid_answer_is_told_in_its_words() {
        for (body, text) in [
            (json!({"message": "boom"}), "boom"),
            (json!({"type": "error", "error": {"message": "Overloaded"}}), "Overloaded"),
            (json!({"code": 7}), "{\"code\":7}"),
        ] {
            let error = genai::Error::ChatResponse { model_iden: model(), body };
            let text = format!("the provider's answer failed: {text}");
            assert_eq!(said(&error, Protocol::OpenAi, true), text);
        }
        let parse = || genai::Error::StreamParse {
            model_iden: model(),
            serde_error: serde::de::Error::custom("slow down"),
        };
        assert_eq!(said(&parse(), Protocol::Responses, true), "the provider's answer failed: slow down");
        assert_eq!(
            said(&parse(), Protocol::OpenAi, true),
            "the provider sent an event that cannot be read (slow down)"
        );
        let error = genai::Error::NoAuthData { model_iden: model() };
        assert!(said(&error, Protocol::OpenAi, false).starts_with("the request cannot be sent: "));
    }
}
