//! The headers that a request asks for.

use super::transport::HttpHeaders;
use crate::message::{ClientIdentity, UserAgent};
use crate::model::RequestOptions;

/// Adds who asks, then the adapter's own headers, then those of the request, each over the ones before.
pub(crate) fn add_headers(options: &RequestOptions, of_adapter: &HttpHeaders, headers: &mut HttpHeaders) {
    if let Some(identity) = &options.identity {
        identify(identity, headers);
    }
    let of_request = options.headers.iter().flat_map(|headers| &headers.0);
    let of_request = of_request.map(|(name, value)| (name.as_str(), value.as_str()));
    for (name, value) in of_adapter.iter().chain(of_request) {
        headers.set(name, value);
    }
}

/// The headers by which providers know the application.
fn identify(identity: &ClientIdentity, headers: &mut HttpHeaders) {
    let name = env!("CARGO_PKG_NAME");
    let version = identity.version.as_deref().unwrap_or(env!("CARGO_PKG_VERSION"));
    headers.set(
        "User-Agent",
        match &identity.user_agent {
            Some(UserAgent::Custom(text)) => text.clone(),
            Some(UserAgent::Detailed) => {
                format!("{name}/{version} ({}; {})", std::env::consts::OS, std::env::consts::ARCH)
            }
            Some(UserAgent::Short) | None => format!("{name}/{version}"),
        },
    );
    if let Some(Some(attribution)) = &identity.attribution {
        headers.set("HTTP-Referer", attribution.url.as_str());
        headers.set("X-Title", attribution.name.as_str());
    }
}
