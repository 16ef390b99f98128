//! Keeping keys and tokens out of texts.

use std::fmt;

use serde_json::{Map, Value};

use crate::model::{Delta, Metadata, Request};

/// Shorter texts are no secrets but placeholders, as local servers take them; taking them out would garble words.
const SHORTEST: usize = 8;

/// The secrets of one request: texts that must not be shown, also where a server repeats them.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Vec<String>);

impl Secrets {
    /// What a request itself brings: its key, and the values of its headers.
    pub(crate) fn of(request: &Request) -> Self {
        let mut secrets = Self::default();
        request.api_key.iter().for_each(|key| secrets.add(key.reveal()));
        let headers = request.options.headers.iter().flat_map(|headers| headers.0.values());
        headers.for_each(|value| secrets.add(value));
        secrets
    }

    /// Adds a secret.
    pub(crate) fn add(&mut self, secret: &str) {
        // A header may hold more than the secret, as `Bearer …`; a server repeats the secret alone.
        let parts = secret.split_whitespace().filter(|part| part.len() >= SHORTEST);
        self.0.extend(parts.map(str::to_owned));
        // A secret may be a part of another one: the longer goes first.
        self.0.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    }

    /// Adds what of an address may be a secret: user, password, and the values of its query.
    pub(crate) fn add_url(&mut self, url: &str) {
        let (address, query) = url.split_once('?').unwrap_or((url, ""));
        let after_scheme = address.split_once("://").map_or(address, |(_, rest)| rest);
        let authority = after_scheme.split('/').next().unwrap_or_default();
        let user = authority.rsplit_once('@').map_or("", |(user, _)| user);
        user.split(':').for_each(|part| self.add(part));
        let values = query.split(['&', '#']).filter_map(|pair| pair.split_once('='));
        values.for_each(|(_, value)| self.add(value));
    }

    /// The text without the secrets.
    ///
    /// A secret's beginning is taken out as well, as far as it goes: texts are cut before they come here.
    pub(crate) fn scrub(&self, text: String) -> String {
        self.0.iter().fold(text, |text, secret| without(text, secret))
    }

    /// The delta without the secrets in what it says of failures.
    pub(crate) fn scrub_delta(&self, mut delta: Delta) -> Delta {
        match &mut delta {
            Delta::Error(failure) => {
                self.scrub_in_place(&mut failure.message);
                self.scrub_metadata(&mut failure.metadata);
            }
            Delta::Done(done) => self.scrub_metadata(&mut done.metadata),
            Delta::Metadata(metadata) => self.scrub_metadata(metadata),
            _ => {}
        }
        delta
    }

    fn scrub_metadata(&self, metadata: &mut Metadata) {
        metadata.raw_stop_reason.iter_mut().for_each(|text| self.scrub_in_place(text));
        for diagnostic in &mut metadata.diagnostics {
            if let Some(error) = &mut diagnostic.error {
                self.scrub_in_place(&mut error.message);
                error.stack.iter_mut().for_each(|text| self.scrub_in_place(text));
            }
            diagnostic.details.iter_mut().flat_map(Map::values_mut).for_each(|value| self.scrub_value(value));
        }
    }

    fn scrub_value(&self, value: &mut Value) {
        match value {
            Value::String(text) => self.scrub_in_place(text),
            Value::Array(items) => items.iter_mut().for_each(|item| self.scrub_value(item)),
            Value::Object(members) => members.values_mut().for_each(|member| self.scrub_value(member)),
            Value::Null | Value::Bool(_) | Value::Number(_) => {}
        }
    }

    fn scrub_in_place(&self, text: &mut String) {
        *text = self.scrub(std::mem::take(text));
    }
}

/// The text without a secret, and without every beginning of it that is long enough to be no word.
fn without(text: String, secret: &str) -> String {
    let Some((beginning, _)) = secret.char_indices().nth(SHORTEST).map(|(at, _)| secret.split_at(at)) else {
        return text.replace(secret, "…");
    };
    if !text.contains(beginning) {
        return text;
    }
    let mut kept = String::with_capacity(text.len());
    let mut rest = text.as_str();
    while let Some((before, from)) = rest.find(beginning).map(|at| rest.split_at(at)) {
        kept.push_str(before);
        kept.push('…');
        let same = from.chars().zip(secret.chars()).take_while(|(a, b)| a == b).map(|(a, _)| a.len_utf8());
        rest = from.get(same.sum()..).unwrap_or_default();
    }
    kept.push_str(rest);
    kept
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.0.len())
    }
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    #[test]
    fn what_an_address_hides_is_a_secret_and_its_host_is_none() {
        let mut secrets = Secrets::default();
        secrets
            .add_url("https://somebody:password1@a-long-host.example/v1/path?api-key=key-12345678&v=2#part");
        let text = "a-long-host.example /v1/path somebody password1 key-12345678 v=2".to_owned();
        assert_eq!(secrets.scrub(text), "a-long-host.example /v1/path … … … v=2");
    }

    #[test]
    fn what_a_server_says_of_a_failure_is_scrubbed_in_every_part() {
        let mut secrets = Secrets::default();
        secrets.add("sk-12345678");
        let failure = serde_json::json!({
            "type": "error", "reason": "error", "errorMessage": "bad sk-12345678", "rawStopReason": "sk-12345678",
            "diagnostics": [{
                "type": "retry", "timestamp": 0, "error": { "message": "sk-12345678", "stack": "at sk-12345678" },
                "details": { "deep": [{ "key": "sk-12345678" }] },
            }],
        });
        let scrubbed = secrets.scrub_delta(serde_json::from_value(failure).unwrap());
        let text = serde_json::to_string(&scrubbed).unwrap();
        assert!(text.contains("bad …") && text.contains("at …") && !text.contains("sk-1234"), "{text}");
    }

    #[test]
    fn a_secret_is_taken_out_wherever_it_stands_and_words_stay() {
        let mut secrets = Secrets::default();
        secrets.add("Bearer sk-12345678");
        secrets.add("sk-12345678-longer");
        secrets.add("tok");
        let text = "tokens: `sk-12345678` (sk-12345678-longer), Bearer".to_owned();
        assert_eq!(secrets.scrub(text), "tokens: `…` (…), Bearer");
        assert_eq!(format!("{secrets:?}"), "Secrets(2)");
        // Cut in the middle of a secret: what is left of it goes too.
        assert_eq!(secrets.scrub("Bearer sk-12345678-lon… (cut)".to_owned()), "Bearer …… (cut)");
        assert_eq!(secrets.scrub("Bearer sk-1234".to_owned()), "Bearer sk-1234");
    }
}
