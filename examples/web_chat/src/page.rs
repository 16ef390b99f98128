//! The page: plain files, built into the program.

use axum::Router;
use axum::http::{HeaderValue, header};
use axum::response::{IntoResponse, Response};
use axum::routing::get;

/// A file of the page: where it is served, what it is, and its text.
struct File {
    path: &'static str,
    kind: &'static str,
    text: &'static str,
}

macro_rules! files {
    ($($path:literal $kind:literal $name:literal,)*) => {
        &[$(File { path: $path, kind: $kind, text: include_str!(concat!("../page/", $name)) },)*]
    };
}

const FILES: &[File] = files! {
    "/" "text/html; charset=utf-8" "index.html",
    "/style.css" "text/css; charset=utf-8" "style.css",
    "/icon.svg" "image/svg+xml" "icon.svg",
    "/app.js" "text/javascript; charset=utf-8" "app.js",
    "/api.js" "text/javascript; charset=utf-8" "api.js",
    "/card.js" "text/javascript; charset=utf-8" "card.js",
    "/dom.js" "text/javascript; charset=utf-8" "dom.js",
    "/log.js" "text/javascript; charset=utf-8" "log.js",
    "/markdown.js" "text/javascript; charset=utf-8" "markdown.js",
    "/plain.js" "text/javascript; charset=utf-8" "plain.js",
    "/store.js" "text/javascript; charset=utf-8" "store.js",
    "/theme.js" "text/javascript; charset=utf-8" "theme.js",
    "/timeline.js" "text/javascript; charset=utf-8" "timeline.js",
};

/// The routes of the page's files.
pub(crate) fn router<S: Clone + Send + Sync + 'static>() -> Router<S> {
    FILES.iter().fold(Router::new(), |router, file| router.route(file.path, get(|| async { respond(file) })))
}

fn respond(file: &File) -> Response {
    let mut response = file.text.into_response();
    let headers = response.headers_mut();
    headers.insert(header::CONTENT_TYPE, HeaderValue::from_static(file.kind));
    // The files change only with the program, but then all at once.
    headers.insert(header::CACHE_CONTROL, HeaderValue::from_static("no-cache"));
    response
}
