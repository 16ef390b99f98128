//! Showing pieces of what servers send.

/// The beginning of a text, cut on a character border; says how much is left out.
pub(crate) fn excerpt(text: &str, limit: usize) -> String {
    if text.len() <= limit {
        return text.to_owned();
    }
    let end = (0..=limit).rev().find(|at| text.is_char_boundary(*at)).unwrap_or(0);
    let (shown, left_out) = text.split_at(end);
    format!("{shown}… ({} more bytes)", left_out.len())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_excerpt_is_cut_on_a_character_border_and_says_so() {
        assert_eq!(excerpt("東京", 6), "東京");
        assert_eq!(excerpt("東京", 5), "東… (3 more bytes)");
        assert_eq!(excerpt("東京", 2), "… (6 more bytes)");
    }
}
