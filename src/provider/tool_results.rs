//! Results of tools where a protocol takes nothing but text.

use crate::message::{Content, Image, ToolResultMessage};

/// What a result without anything in it says: protocols refuse empty ones.
pub(crate) const NO_OUTPUT: &str = "(The tool gave no output.)";

/// Stands before the images of results, in the user message that follows them.
pub(crate) const IMAGES: &str = "(The images of the tool results above, in order:)";

/// A result as text. Its images are put behind those that are to follow the results.
pub(crate) fn text_of(result: &ToolResultMessage, images: &mut Vec<Image>) -> String {
    let had = images.len();
    images.extend(result.content.iter().filter_map(|block| match block {
        Content::Image(image) => Some(image.clone()),
        Content::Text(_) => None,
    }));
    let text = result.texts().collect::<Vec<_>>().join("\n");
    match text.as_str() {
        "" if images.len() > had => "(The result is the image that follows.)".to_owned(),
        "" => NO_OUTPUT.to_owned(),
        _ => text,
    }
}
