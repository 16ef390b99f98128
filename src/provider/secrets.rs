//! Keeping keys and tokens out of texts.

use std::fmt;

use crate::model::Delta;

/// Shorter texts are no secrets but placeholders, as local servers take them; taking them out would garble words.
const SHORTEST: usize = 8;

/// The secrets of one request: texts that must not be shown, also where a server repeats them.
#[derive(Clone, Default)]
pub(crate) struct Secrets(Vec<String>);

impl Secrets {
    /// Adds a secret.
    pub(crate) fn add(&mut self, secret: &str) {
        // A header may hold more than the secret, as `Bearer …`; a server repeats the secret alone.
        let parts = secret.split_whitespace().filter(|part| part.len() >= SHORTEST);
        self.0.extend(parts.map(str::to_owned));
        // A secret may be a part of another one: the longer goes first.
        self.0.sort_by_key(|secret| std::cmp::Reverse(secret.len()));
    }

    /// The text without the secrets.
    pub(crate) fn scrub(&self, text: String) -> String {
        self.0.iter().fold(text, |text, secret| match text.contains(secret) {
            true => text.replace(secret, "…"),
            false => text,
        })
    }

    /// The delta without the secrets in the text of a failure.
    pub(crate) fn scrub_delta(&self, mut delta: Delta) -> Delta {
        if let Delta::Error(failure) = &mut delta {
            failure.message = self.scrub(std::mem::take(&mut failure.message));
        }
        delta
    }
}

impl fmt::Debug for Secrets {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "Secrets({})", self.0.len())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_secret_is_taken_out_wherever_it_stands_and_words_stay() {
        let mut secrets = Secrets::default();
        secrets.add("Bearer sk-12345678");
        secrets.add("sk-12345678-longer");
        secrets.add("tok");
        let text = "tokens: `sk-12345678` (sk-12345678-longer), Bearer".to_owned();
        assert_eq!(secrets.scrub(text), "tokens: `…` (…), Bearer");
        assert_eq!(format!("{secrets:?}"), "Secrets(2)");
    }
}
