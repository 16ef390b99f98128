//! How names in Rust become names in JSON: the rules of serde's `rename_all`.

/// A rule for names.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub(crate) enum Case {
    Lower,
    Upper,
    Pascal,
    Camel,
    Snake,
    ScreamingSnake,
    Kebab,
    ScreamingKebab,
}

impl Case {
    /// Every rule with its name in attributes.
    pub(crate) const ALL: [(&'static str, Self); 8] = [
        ("lowercase", Self::Lower),
        ("UPPERCASE", Self::Upper),
        ("PascalCase", Self::Pascal),
        ("camelCase", Self::Camel),
        ("snake_case", Self::Snake),
        ("SCREAMING_SNAKE_CASE", Self::ScreamingSnake),
        ("kebab-case", Self::Kebab),
        ("SCREAMING-KEBAB-CASE", Self::ScreamingKebab),
    ];

    /// The rule of this name.
    pub(crate) fn parse(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|(known, _)| *known == name).map(|(_, case)| case)
    }

    /// Its name in attributes.
    pub(crate) fn name(self) -> &'static str {
        Self::ALL.into_iter().find(|(_, case)| *case == self).map_or("", |(name, _)| name)
    }

    /// A type's or a variant's name, which Rust writes in `PascalCase`.
    pub(crate) fn of_type(self, name: &str) -> String {
        match self {
            Self::Pascal => name.to_owned(),
            Self::Lower => name.to_ascii_lowercase(),
            Self::Upper => name.to_ascii_uppercase(),
            Self::Camel => first_lower(name),
            Self::Snake => snake(name),
            Self::ScreamingSnake => snake(name).to_ascii_uppercase(),
            Self::Kebab => snake(name).replace('_', "-"),
            Self::ScreamingKebab => snake(name).to_ascii_uppercase().replace('_', "-"),
        }
    }

    /// A field's name, which Rust writes in `snake_case`.
    pub(crate) fn of_field(self, name: &str) -> String {
        match self {
            Self::Lower | Self::Snake => name.to_owned(),
            Self::Upper | Self::ScreamingSnake => name.to_ascii_uppercase(),
            Self::Pascal => name.split('_').map(first_upper).collect(),
            Self::Camel => first_lower(&Self::Pascal.of_field(name)),
            Self::Kebab => name.replace('_', "-"),
            Self::ScreamingKebab => name.to_ascii_uppercase().replace('_', "-"),
        }
    }
}

/// `PascalCase` as `snake_case`: every capital begins a word.
fn snake(name: &str) -> String {
    let mut snake = String::with_capacity(name.len() + 4);
    for letter in name.chars() {
        if letter.is_uppercase() && !snake.is_empty() {
            snake.push('_');
        }
        snake.push(letter.to_ascii_lowercase());
    }
    snake
}

fn first_lower(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(letters).collect()
}

fn first_upper(name: &str) -> String {
    let mut letters = name.chars();
    letters.next().map(|first| first.to_ascii_uppercase()).into_iter().chain(letters).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_follow_serde() {
        let table = [
            ("lowercase", "branchsummary", "exclude_from_context"),
            ("UPPERCASE", "BRANCHSUMMARY", "EXCLUDE_FROM_CONTEXT"),
            ("PascalCase", "BranchSummary", "ExcludeFromContext"),
            ("camelCase", "branchSummary", "excludeFromContext"),
            ("snake_case", "branch_summary", "exclude_from_context"),
            ("SCREAMING_SNAKE_CASE", "BRANCH_SUMMARY", "EXCLUDE_FROM_CONTEXT"),
            ("kebab-case", "branch-summary", "exclude-from-context"),
            ("SCREAMING-KEBAB-CASE", "BRANCH-SUMMARY", "EXCLUDE-FROM-CONTEXT"),
        ];
        for (rule, role, field) in table {
            let case = Case::parse(rule).unwrap_or_else(|| unreachable!("no rule `{rule}`"));
            assert_eq!(case.name(), rule);
            assert_eq!(case.of_type("BranchSummary"), role);
            assert_eq!(case.of_field("exclude_from_context"), field);
        }
        assert_eq!(Case::parse("TitleCase"), None);
    }
}
