//! Who may speak to the server: pages that it served itself, and programs on this machine.
//!
//! A server on the loopback has no password, but every web page that is open in the same browser can send it requests.
//! So the guard looks at three headers that a page cannot forge:
//!
//! * `Host` must be a name of the loopback (or one that the server was started for). A page whose own name was pointed
//!   at 127.0.0.1 (DNS rebinding) has its own name there.
//! * `Origin`, where there is one, must be the server itself. Browsers send it with every `POST`.
//! * `Sec-Fetch-Site`, where there is one, must not say that another page asks. It is also sent where `Origin` is not.
//!
//! Programs that are no browsers send neither of the last two. They could do worse than chat, so they are let in.

use std::net::IpAddr;

use axum::http::{HeaderMap, HeaderValue, Method, StatusCode, header};

/// Decides which requests are answered.
#[derive(Debug, Clone)]
pub(crate) struct Guard {
    hosts: Vec<String>,
}

/// Why a request is not answered.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(crate) enum Refusal {
    /// It was sent to a name that this server does not have.
    WrongHost,
    /// Another web page sent it.
    OtherOrigin,
}

impl Guard {
    /// Lets in what is sent to the loopback's names, and to these, which are without a port.
    pub(crate) fn new(hosts: Vec<String>) -> Self {
        Self { hosts }
    }

    /// Decides about a request. A page may be opened from anywhere; only the server's own pages may do more.
    pub(crate) fn check(&self, method: &Method, path: &str, headers: &HeaderMap) -> Result<(), Refusal> {
        let host = only(headers, "host").flatten().ok_or(Refusal::WrongHost)?;
        if !self.is_known(name_of(host)) {
            return Err(Refusal::WrongHost);
        }
        let opens_a_page = method == Method::GET && !path.starts_with("/api/");
        if opens_a_page || is_own(headers, host) { Ok(()) } else { Err(Refusal::OtherOrigin) }
    }

    fn is_known(&self, name: &str) -> bool {
        let address = name.trim_start_matches('[').trim_end_matches(']');
        name.eq_ignore_ascii_case("localhost")
            || address.parse::<IpAddr>().is_ok_and(|address| address.is_loopback())
            || self.hosts.iter().any(|known| known.eq_ignore_ascii_case(name))
    }
}

/// Whether what the browser says of the request's origin, if anything, is this server.
fn is_own(headers: &HeaderMap, host: &str) -> bool {
    let own_origin = |origin: &str| {
        ["http://", "https://"]
            .iter()
            .filter_map(|scheme| origin.strip_prefix(scheme))
            .any(|authority| authority.eq_ignore_ascii_case(host))
    };
    let own_site = |site: &str| matches!(site, "same-origin" | "none");
    let agrees = |name, is_own: &dyn Fn(&str) -> bool| match only(headers, name) {
        Some(Some(value)) => is_own(value),
        Some(None) => false,
        None => true,
    };
    agrees("origin", &own_origin) && agrees("sec-fetch-site", &own_site)
}

/// The header's value: `None` if it is not there, `Some(None)` if it is unreadable or there twice.
fn only<'a>(headers: &'a HeaderMap, name: &str) -> Option<Option<&'a str>> {
    let mut values = headers.get_all(name).iter();
    let first = values.next()?;
    if values.next().is_some() { Some(None) } else { Some(first.to_str().ok()) }
}

/// The host without its port.
fn name_of(host: &str) -> &str {
    match host.rsplit_once(':') {
        Some((name, port)) if port.bytes().all(|byte| byte.is_ascii_digit()) && !name.is_empty() => name,
        _ => host,
    }
}

impl Refusal {
    pub(crate) fn status(self) -> StatusCode {
        match self {
            Self::WrongHost => StatusCode::MISDIRECTED_REQUEST,
            Self::OtherOrigin => StatusCode::FORBIDDEN,
        }
    }

    pub(crate) fn text(self) -> &'static str {
        match self {
            Self::WrongHost => "This server does not go by that name.",
            Self::OtherOrigin => "Only pages of this server may do that.",
        }
    }
}

/// Adds what keeps an answer from loading, running, being taken for or being put into anything else: the page by its
/// policy, and what is no page by staying what it says it is.
pub(crate) fn protect(headers: &mut HeaderMap) {
    for (name, value) in PROTECTION {
        headers.insert(name, HeaderValue::from_static(value));
    }
}

const PROTECTION: [(header::HeaderName, &str); 6] = [
    (
        header::CONTENT_SECURITY_POLICY,
        "default-src 'none'; script-src 'self'; style-src 'self'; connect-src 'self'; img-src 'self' data:; \
         base-uri 'none'; form-action 'none'; frame-ancestors 'none'; require-trusted-types-for 'script'",
    ),
    (header::X_CONTENT_TYPE_OPTIONS, "nosniff"),
    (header::REFERRER_POLICY, "no-referrer"),
    (header::X_FRAME_OPTIONS, "DENY"),
    (header::HeaderName::from_static("cross-origin-opener-policy"), "same-origin"),
    (header::HeaderName::from_static("cross-origin-resource-policy"), "same-origin"),
];

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    fn check(method: &Method, path: &str, headers: &[(&'static str, &str)]) -> Result<(), Refusal> {
        let mut map = HeaderMap::new();
        for (name, value) in headers {
            map.append(*name, HeaderValue::from_bytes(value.as_bytes()).unwrap());
        }
        Guard::new(vec!["chat.example".to_owned()]).check(method, path, &map)
    }

    #[test]
    fn only_the_names_of_this_server_are_answered() {
        let table = [
            ("localhost", true),
            ("LocalHost:8787", true),
            ("127.0.0.1:8787", true),
            ("127.0.0.1", true),
            ("127.8.9.10:1", true),
            ("[::1]:8787", true),
            ("[::1]", true),
            ("chat.example", true),
            ("chat.example:8787", true),
            ("evil.example", false),
            ("evil.example:8787", false),
            ("localhost.evil.example", false),
            ("127.0.0.1.evil.example:8787", false),
            ("evil.example:127.0.0.1", false),
            ("0.0.0.0:8787", false),
            ("192.168.0.7:8787", false),
            ("", false),
            (":8787", false),
            ("\u{e9}", false),
        ];
        for (host, answered) in table {
            for (method, path) in [(Method::GET, "/"), (Method::POST, "/api/conversations")] {
                let expected = if answered { Ok(()) } else { Err(Refusal::WrongHost) };
                assert_eq!(check(&method, path, &[("host", host)]), expected, "{host:?}");
            }
        }
        assert_eq!(check(&Method::GET, "/", &[]), Err(Refusal::WrongHost));
        let twice = [("host", "localhost"), ("host", "evil.example")];
        assert_eq!(check(&Method::GET, "/", &twice), Err(Refusal::WrongHost));
    }

    #[test]
    fn only_pages_of_this_server_use_its_api() {
        let table: [(&[(&'static str, &str)], bool); 15] = [
            (&[], true),
            (&[("origin", "http://localhost:8787")], true),
            (&[("origin", "https://localhost:8787")], true),
            (&[("origin", "http://localhost:8787"), ("sec-fetch-site", "same-origin")], true),
            (&[("sec-fetch-site", "same-origin")], true),
            (&[("sec-fetch-site", "none")], true),
            (&[("origin", "http://localhost")], false),
            (&[("origin", "http://localhost:9999")], false),
            (&[("origin", "http://evil.example")], false),
            (&[("origin", "null")], false),
            (&[("origin", "localhost:8787")], false),
            (&[("sec-fetch-site", "cross-site")], false),
            (&[("sec-fetch-site", "same-site")], false),
            (&[("origin", "http://localhost:8787"), ("sec-fetch-site", "cross-site")], false),
            (&[("origin", "http://localhost:8787"), ("origin", "http://evil.example")], false),
        ];
        for (headers, allowed) in table {
            let headers: Vec<_> =
                [("host", "localhost:8787")].into_iter().chain(headers.iter().copied()).collect();
            for (method, path) in [
                (Method::POST, "/api/conversations"),
                (Method::POST, "/"),
                (Method::GET, "/api/conversations/1/events"),
            ] {
                let expected = if allowed { Ok(()) } else { Err(Refusal::OtherOrigin) };
                assert_eq!(check(&method, path, &headers), expected, "{method} {path} {headers:?}");
            }
        }
    }

    #[test]
    fn the_page_itself_may_be_opened_from_a_link() {
        let link = [("host", "localhost:8787"), ("sec-fetch-site", "cross-site")];
        assert_eq!(check(&Method::GET, "/", &link), Ok(()));
    }
}
