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
    ///
    /// A secret's beginning is taken out as well, as far as it goes: texts are cut before they come here.
    pub(crate) fn scrub(&self, text: String) -> String {
        self.0.iter().fold(text, |text, secret| without(text, secret))
    }

    /// The delta without the secrets in the text of a failure.
    pub(crate) fn scrub_delta(&self, mut delta: Delta) -> Delta {
        if let Delta::Error(failure) = &mut delta {
            failure.message = self.scrub(std::mem::take(&mut failure.message));
        }
        delta
    }
}

/// The text without a secret, and without every beginning of it that is long enough to be no word.
fn without(text: String, secret: &str) -> String {
    let Some((beginning, _)) = secret.char_indices().nth(SHORTEST - 1).map(|(at, _)| secret.split_at(at))
    else {
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
        // Cut in the middle of a secret: what is left of it goes too.
        assert_eq!(secrets.scrub("Bearer sk-12345678-lon… (cut)".to_owned()), "Bearer …… (cut)");
        assert_eq!(secrets.scrub("Bearer sk-1234".to_owned()), "Bearer sk-1234");
    }
}
