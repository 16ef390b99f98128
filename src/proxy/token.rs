//! The token by which a proxy knows its clients.

use std::fmt;
use std::hint::black_box;
use std::sync::Arc;

/// A bearer token. It is never printed.
#[derive(Clone)]
pub struct BearerToken(Arc<str>);

impl BearerToken {
    /// A token.
    #[must_use]
    pub fn new(token: impl Into<Arc<str>>) -> Self {
        Self(token.into())
    }

    /// Whether the value of an `Authorization` header carries this token. No header carries none, and no header
    /// carries the empty token.
    ///
    /// The time it takes tells nothing of how much of a wrong token was right.
    #[must_use]
    pub fn accepts(&self, authorization: Option<&str>) -> bool {
        let Some((scheme, token)) = authorization.and_then(|value| value.split_once(' ')) else {
            return false;
        };
        let (ours, theirs) = (self.0.as_bytes(), token.trim().as_bytes());
        let difference = ours.iter().zip(theirs).fold(0, |all, (a, b)| black_box(all | (a ^ b)));
        let is_same = ours.len() == theirs.len() && difference == 0;
        scheme.eq_ignore_ascii_case("bearer") && is_same && !ours.is_empty()
    }

    /// The value of the `Authorization` header.
    pub(super) fn header(&self) -> String {
        format!("Bearer {}", self.0)
    }
}

impl fmt::Debug for BearerToken {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str("BearerToken(…)")
    }
}

impl From<&str> for BearerToken {
    fn from(token: &str) -> Self {
        Self::new(token)
    }
}

impl From<String> for BearerToken {
    fn from(token: String) -> Self {
        Self::new(token)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_the_token_itself_is_accepted() {
        let token = BearerToken::new("secret");
        assert!(token.accepts(Some("Bearer secret")));
        assert!(token.accepts(Some("bearer secret ")));
        for wrong in
            ["secret", "Bearer", "Bearer ", "Bearer secre", "Bearer secrets", "Basic secret", "Bearer SECRET"]
        {
            assert!(!token.accepts(Some(wrong)), "{wrong}");
        }
        assert!(!token.accepts(None));
        assert!(!BearerToken::new("").accepts(Some("Bearer ")));
        assert_eq!(format!("{token:?}"), "BearerToken(…)");
    }
}
