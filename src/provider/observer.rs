//! Watching what goes over the wire.

use super::transport::HttpHeaders;
use crate::model::Model;

/// Sees what an adapter sends and receives, for logs and for debugging. Every method does nothing by default.
///
/// The methods are called in between, so they must not block.
///
/// They are never shown the URL and the headers of a request, where keys are. What they are shown is the conversation in
/// the clear, as it goes over the wire, and nothing is taken out of it: a server may repeat a key in what it sends, and
/// the body of a request to a proxy holds the headers that the [options](crate::model::RequestOptions::headers) name.
pub trait Observer: Send + Sync + 'static {
    /// The body of the request that is about to be sent.
    fn payload(&self, model: &Model, body: &[u8]) {
        let _ = (model, body);
    }

    /// The head of the response.
    fn response(&self, model: &Model, status: u16, headers: &HttpHeaders) {
        let _ = (model, status, headers);
    }

    /// The data of an event, as the server sent it, before it is read.
    fn event(&self, model: &Model, data: &str) {
        let _ = (model, data);
    }
}
