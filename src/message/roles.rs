//! Which roles a custom message type has, and the check that no role is declared twice.

/// One role and the place that declares it.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
#[non_exhaustive]
pub struct Role {
    /// The role's name in JSON.
    pub name: &'static str,
    /// Where it is declared, as `my_app::AppMessage::Notification`.
    pub at: &'static str,
}

impl Role {
    /// A role and its place.
    #[must_use]
    pub const fn new(name: &'static str, at: &'static str) -> Self {
        Self { name, at }
    }
}

/// All roles of a [`CustomMessage`](super::CustomMessage) type.
#[derive(Debug, Clone, Copy)]
#[non_exhaustive]
pub struct Roles {
    /// The type's own roles.
    pub own: &'static [Role],
    /// The roles of the types it extends.
    pub extended: &'static [Roles],
    /// Whether every role that is neither reserved nor declared elsewhere is accepted too.
    pub any: bool,
}

impl Roles {
    /// The roles that no custom message may take.
    pub const RESERVED: [&'static str; 4] = ["system", "user", "assistant", "toolResult"];

    /// A type's own roles.
    #[must_use]
    pub const fn of(own: &'static [Role]) -> Self {
        Self { own, extended: &[], any: false }
    }

    /// These roles and those of extended types.
    #[must_use]
    pub const fn extending(self, extended: &'static [Roles]) -> Self {
        Self { own: self.own, extended, any: self.any }
    }

    /// Every role that is not reserved.
    #[must_use]
    pub const fn any() -> Self {
        Self { own: &[], extended: &[], any: true }
    }

    /// Whether a message of this role is one of this type's.
    #[must_use]
    pub fn contains(&self, role: &str) -> bool {
        self.names(role) || (self.takes_any() && !Self::is_reserved(role))
    }

    /// Whether this role is declared by name, here or in an extended type.
    #[must_use]
    pub const fn names(&self, role: &str) -> bool {
        self.find(role).is_some()
    }

    /// Whether this is one of [`Self::RESERVED`].
    #[must_use]
    pub const fn is_reserved(role: &str) -> bool {
        let mut i = 0;
        while i < Self::RESERVED.len() {
            if same(Self::RESERVED[i], role) {
                return true;
            }
            i += 1;
        }
        false
    }

    /// Every declared role, own ones first.
    #[must_use]
    pub fn all(&self) -> Vec<Role> {
        let mut all = self.own.to_vec();
        all.extend(self.extended.iter().flat_map(Roles::all));
        all
    }

    /// Refuses roles that are reserved or declared twice, anywhere in this type and those it extends.
    ///
    /// It is meant for const evaluation, where a panic is a compile error. [`AgentMessage`](super::AgentMessage)
    /// evaluates it for its message type, so types with generic extensions, and types that implement
    /// [`CustomMessage`](super::CustomMessage) by hand, are checked too: when the program is built, which is
    /// later than `cargo check`.
    ///
    /// # Panics
    /// If a role is reserved or declared twice; the message names the role and its places.
    #[track_caller]
    pub const fn check(&self) {
        let mut i = 0;
        while i < self.own.len() {
            let role = self.own[i];
            if Self::is_reserved(role.name) {
                refuse_reserved(role);
            }
            let mut before = 0;
            while before < i {
                if same(self.own[before].name, role.name) {
                    refuse_twice(self.own[before], role);
                }
                before += 1;
            }
            i += 1;
        }
        let mut i = 0;
        while i < self.extended.len() {
            self.extended[i].check();
            self.check_extension(i);
            i += 1;
        }
    }

    /// Refuses an extended type whose roles are declared by the extending type, or by one extended before it.
    ///
    /// The derive evaluates it at compile time, one evaluation for each extension, so that the error falls on the
    /// extension at fault.
    ///
    /// # Panics
    /// If a role is declared twice; the message names the role and both places. If there is no such extension.
    #[track_caller]
    pub const fn check_extension(&self, index: usize) {
        let extension = &self.extended[index];
        refuse_clash(&Self::of(self.own), extension);
        let mut before = 0;
        while before < index {
            refuse_clash(&self.extended[before], extension);
            before += 1;
        }
    }

    /// Whether this type, or one it extends, takes roles that nobody declares.
    const fn takes_any(&self) -> bool {
        let mut i = 0;
        while i < self.extended.len() {
            if self.extended[i].takes_any() {
                return true;
            }
            i += 1;
        }
        self.any
    }

    /// The declaration of this role, here or in an extended type.
    const fn find(&self, role: &str) -> Option<Role> {
        let mut i = 0;
        while i < self.own.len() {
            if same(self.own[i].name, role) {
                return Some(self.own[i]);
            }
            i += 1;
        }
        let mut i = 0;
        while i < self.extended.len() {
            if let Some(found) = self.extended[i].find(role) {
                return Some(found);
            }
            i += 1;
        }
        None
    }
}

/// Refuses two types that share a role.
///
/// As all that refuses, it panics in const evaluation alone, where a panic is a compile error, and is `track_caller`, so that
/// the compiler shows the extension at fault and not this file.
#[track_caller]
const fn refuse_clash(first: &Roles, second: &Roles) {
    if first.takes_any() && second.takes_any() {
        panic!("two of the extended types take every role that nobody declares; extend one such type");
    }
    let mut i = 0;
    while i < second.own.len() {
        if let Some(role) = first.find(second.own[i].name) {
            refuse_twice(role, second.own[i]);
        }
        i += 1;
    }
    let mut i = 0;
    while i < second.extended.len() {
        refuse_clash(first, &second.extended[i]);
        i += 1;
    }
}

#[track_caller]
const fn refuse_twice(first: Role, second: Role) -> ! {
    if same(first.at, second.at) {
        let message = ConstText::new()
            .add("the role `")
            .add(first.name)
            .add("`, declared by `")
            .add(first.at)
            .add("`, is extended twice; extend its type once");
        panic!("{}", message.as_str())
    }
    let message = ConstText::new()
        .add("the role `")
        .add(first.name)
        .add("` is declared twice: by `")
        .add(first.at)
        .add("` and by `")
        .add(second.at)
        .add("`; give one of them another role");
    panic!("{}", message.as_str())
}

#[track_caller]
const fn refuse_reserved(role: Role) -> ! {
    let message = ConstText::new()
        .add("the role `")
        .add(role.name)
        .add("`, declared by `")
        .add(role.at)
        .add("`, is one of the four standard roles; give it another name");
    panic!("{}", message.as_str())
}

/// Text put together in const evaluation, where `format!` does not run. What does not fit is cut off.
struct ConstText {
    bytes: [u8; 1024],
    len: usize,
}

impl ConstText {
    const fn new() -> Self {
        Self { bytes: [0; 1024], len: 0 }
    }

    const fn add(mut self, text: &str) -> Self {
        let text = text.as_bytes();
        let mut i = 0;
        while i < text.len() && self.len < self.bytes.len() {
            self.bytes[self.len] = text[i];
            self.len += 1;
            i += 1;
        }
        self
    }

    const fn as_str(&self) -> &str {
        match std::str::from_utf8(self.bytes.split_at(self.len).0) {
            Ok(text) => text,
            Err(_) => "a role is reserved or declared twice",
        }
    }
}

/// Whether two texts are the same, in const evaluation.
const fn same(a: &str, b: &str) -> bool {
    let (a, b) = (a.as_bytes(), b.as_bytes());
    if a.len() != b.len() {
        return false;
    }
    let mut i = 0;
    while i < a.len() {
        if a[i] != b[i] {
            return false;
        }
        i += 1;
    }
    true
}

#[cfg(test)]
#[allow(clippy::expect_used, reason = "a test fails by panicking")]
mod tests {
    use proptest::collection::vec;
    use proptest::prelude::*;
    use proptest::sample::select;

    use super::*;

    const INNER: Roles = Roles::of(&[Role::new("innerNote", "inner::Note")]);
    const PLUGIN: Roles = Roles::of(&[Role::new("pluginNote", "plugin::Note")]).extending(&[INNER]);

    #[track_caller]
    fn assert_refused(roles: Roles, expected: &str) {
        let panic = std::panic::catch_unwind(|| roles.check()).expect_err("the roles were accepted");
        assert_eq!(panic.downcast_ref::<String>().map(String::as_str), Some(expected));
    }

    #[test]
    fn distinct_roles_pass() {
        const DISTINCT: Roles =
            Roles::of(&[Role::new("note", "app::Note")]).extending(&[PLUGIN, Roles::any()]);
        DISTINCT.check();
    }

    #[test]
    fn a_role_of_the_type_and_of_an_extension_of_an_extension_is_refused() {
        const TWICE: Roles = Roles::of(&[Role::new("innerNote", "app::Note")]).extending(&[PLUGIN]);
        assert_refused(
            TWICE,
            "the role `innerNote` is declared twice: by `app::Note` and by `inner::Note`; \
             give one of them another role",
        );
    }

    #[test]
    fn a_type_that_is_extended_in_two_ways_is_refused() {
        const TWICE: Roles = Roles::of(&[]).extending(&[INNER, PLUGIN]);
        assert_refused(
            TWICE,
            "the role `innerNote`, declared by `inner::Note`, is extended twice; extend its type once",
        );
    }

    #[test]
    fn a_role_that_one_type_declares_twice_is_refused() {
        const TWICE: Roles = Roles::of(&[Role::new("note", "app::A"), Role::new("note", "app::B")]);
        assert_refused(
            TWICE,
            "the role `note` is declared twice: by `app::A` and by `app::B`; give one of them another role",
        );
    }

    #[test]
    fn a_reserved_role_is_refused() {
        const RESERVED: Roles = Roles::of(&[Role::new("toolResult", "app::Result")]);
        assert_refused(
            RESERVED,
            "the role `toolResult`, declared by `app::Result`, is one of the four standard roles; \
             give it another name",
        );
    }

    #[test]
    fn a_type_for_any_role_takes_all_but_the_reserved_ones() {
        const ROLES: Roles = Roles::of(&[]).extending(&[PLUGIN, Roles::any()]);
        assert!(ROLES.contains("pluginNote") && ROLES.contains("whatever"));
        assert!(ROLES.names("innerNote") && !ROLES.names("whatever"));
        assert!(!ROLES.contains("user"));
        assert!(!PLUGIN.contains("whatever"));
    }

    #[test]
    fn a_text_that_is_too_long_is_cut() {
        let long = "x".repeat(2_000);
        assert_eq!(ConstText::new().add(&long).as_str(), &long[..1024]);
    }

    /// What a random type declares, by its place and its names.
    #[derive(Debug, Clone)]
    struct Declared {
        own: Vec<&'static str>,
        extended: Vec<Declared>,
    }

    impl Declared {
        /// The constant that such a type would have. Each declaration has a place of its own.
        fn roles(&self, places: &mut usize) -> Roles {
            let mut place = || {
                *places += 1;
                &*Box::leak(format!("place{places}").into_boxed_str())
            };
            let own: Vec<_> = self.own.iter().map(|name| Role::new(name, place())).collect();
            let extended: Vec<_> = self.extended.iter().map(|declared| declared.roles(places)).collect();
            Roles::of(own.leak()).extending(extended.leak())
        }

        fn names(&self) -> Vec<&'static str> {
            let extended = self.extended.iter().flat_map(Self::names);
            self.own.iter().copied().chain(extended).collect()
        }
    }

    fn declared() -> impl Strategy<Value = Declared> {
        let names = || vec(select(vec!["a", "b", "c", "d", "e", "f", "aa", "toolResult"]), 0..3);
        let leaf = names().prop_map(|own| Declared { own, extended: Vec::new() });
        leaf.prop_recursive(3, 8, 3, move |inner| {
            (names(), vec(inner, 0..3)).prop_map(|(own, extended)| Declared { own, extended })
        })
    }

    proptest! {
        #[test]
        fn roles_pass_where_each_is_declared_once_and_none_is_reserved(declared in declared()) {
            let mut names = declared.names();
            let all = names.len();
            names.sort_unstable();
            names.dedup();
            let sound = names.len() == all && !names.contains(&"toolResult");

            let roles = declared.roles(&mut 0);
            prop_assert_eq!(std::panic::catch_unwind(|| roles.check()).is_ok(), sound);
            prop_assert_eq!(roles.all().len(), all);
            prop_assert!(names.iter().all(|name| roles.names(name)));
        }
    }
}
