//! Who asks.

use super::transport::HttpHeaders;
use crate::message::{ClientIdentity, UserAgent};

/// The headers by which providers know the application.
pub(crate) fn identify(identity: &ClientIdentity, headers: &mut HttpHeaders) {
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
