//! Addresses of servers, as texts: nothing here resolves or checks one.

/// The URL with a path put behind its own, and in front of its query. The fragment, which no server sees, is left out.
#[cfg(any(feature = "proxy", feature = "openai-compatible", feature = "genai"))]
pub(crate) fn below(base_url: &str, path: &str) -> String {
    let url = base_url.split('#').next().unwrap_or_default();
    let (base, query) = url.find('?').map_or((url, ""), |at| url.split_at(at));
    format!("{}{path}{query}", base.trim_end_matches('/'))
}

/// The URL without user, password, query and fragment: keys are passed in all of them.
///
/// Where a password holds `/`, `?` or `#` as they are, nobody can say where it ends, and nothing but the scheme is left.
pub(crate) fn without_secrets(url: &str) -> String {
    let (scheme, rest) = match url.split_once("://") {
        Some((scheme, rest)) => (format!("{scheme}://"), rest),
        None => (String::new(), url),
    };
    let end = rest.find(['/', '?', '#']).unwrap_or(rest.len());
    let (authority, behind) = rest.split_at(end);
    match authority.rsplit_once('@') {
        None if behind.contains('@') => format!("{scheme}…"),
        user => {
            let host = user.map_or(authority, |(_, host)| host);
            let path = behind.split(['?', '#']).next().unwrap_or_default();
            format!("{scheme}{host}{path}")
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[cfg(any(feature = "proxy", feature = "openai-compatible", feature = "genai"))]
    #[test]
    fn a_path_goes_in_front_of_the_query() {
        for (base_url, url) in [
            ("https://host/v1", "https://host/v1/x"),
            ("https://host/v1//", "https://host/v1/x"),
            ("https://host", "https://host/x"),
            ("https://host/v1?api-version=1/2&k=", "https://host/v1/x?api-version=1/2&k="),
            ("https://host/v1/?a#b?c", "https://host/v1/x?a"),
            ("https://host/v1#b?c", "https://host/v1/x"),
            ("", "/x"),
        ] {
            assert_eq!(below(base_url, "/x"), url, "{base_url}");
        }
    }

    #[test]
    fn nothing_of_an_address_is_shown_that_may_be_secret() {
        for (url, shown) in [
            ("https://me:pw@api.test:8/v1/x?key=k#f", "https://api.test:8/v1/x"),
            ("https://api.test", "https://api.test"),
            ("https://api.test?key=k", "https://api.test"),
            ("me:pw@api.test/v1", "api.test/v1"),
            ("https://me:p@w@api.test/v1", "https://api.test/v1"),
            ("https://me:p/w@api.test/v1", "https://…"),
            ("https://me:p#w@api.test/v1", "https://…"),
            ("me:p?w@api.test/v1", "…"),
        ] {
            assert_eq!(without_secrets(url), shown);
        }
    }
}
