//! Reading objects that carry their kind in one of their fields (`role`, `type`), and below that, fields of several forms.
//!
//! Where the kind comes first, as in everything this crate writes, the other fields stream straight into the
//! kind's own type. Otherwise the fields before it are kept aside and read first. This needs a format that
//! describes itself, as JSON does.

use std::borrow::Cow;
use std::fmt;
use std::marker::PhantomData;

use serde::de::value::{MapAccessDeserializer, SeqAccessDeserializer};
use serde::de::{
    Deserialize, DeserializeSeed, Deserializer, Error, IntoDeserializer, MapAccess, SeqAccess, Visitor,
};
use serde_json::Value;

/// A type whose kind is told by one field of its object.
pub(crate) trait FromTagged<'de>: Sized {
    /// The name of that field.
    const TAG: &'static str;

    /// Reads the kind that `tag` names from the object's other fields.
    fn from_tagged<D: Deserializer<'de>>(tag: &str, fields: D) -> Result<Self, D::Error>;
}

/// Reads a tagged object.
pub(crate) fn read_tagged<'de, T: FromTagged<'de>, D: Deserializer<'de>>(
    deserializer: D,
) -> Result<T, D::Error> {
    deserializer.deserialize_map(TaggedVisitor(PhantomData))
}

/// The error for a kind that is not known: it names the kind, and the kinds there are.
pub(crate) fn unknown_tag<E: Error>(what: &str, tag: &str, known: &[&str]) -> E {
    E::custom(format_args!("unknown {what} `{tag}`, expected one of: {}", known.join(", ")))
}

struct TaggedVisitor<T>(PhantomData<T>);

impl<'de, T: FromTagged<'de>> Visitor<'de> for TaggedVisitor<T> {
    type Value = T;

    fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "an object with the field `{}`", T::TAG)
    }

    fn visit_map<A: MapAccess<'de>>(self, mut map: A) -> Result<T, A::Error> {
        let mut before = Vec::new();
        while let Some(key) = map.next_key::<Key<'de>>()? {
            if key.0 == T::TAG {
                let tag: Key<'de> = map.next_value()?;
                let fields = Fields { before: before.into_iter(), value: None, rest: map };
                return T::from_tagged(&tag.0, MapAccessDeserializer::new(fields));
            }
            before.push((key.0, map.next_value::<Value>()?));
        }
        Err(A::Error::missing_field(T::TAG))
    }
}

/// A text that borrows from the input where it can.
struct Key<'de>(Cow<'de, str>);

impl<'de> Deserialize<'de> for Key<'de> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct KeyVisitor;
        impl<'de> Visitor<'de> for KeyVisitor {
            type Value = Key<'de>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text")
            }

            fn visit_borrowed_str<E: Error>(self, text: &'de str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Borrowed(text)))
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(text.to_owned())))
            }

            fn visit_string<E: Error>(self, text: String) -> Result<Key<'de>, E> {
                Ok(Key(Cow::Owned(text)))
            }
        }
        deserializer.deserialize_str(KeyVisitor)
    }
}

/// The fields before the tag, then the fields after it.
struct Fields<'de, A> {
    before: std::vec::IntoIter<(Cow<'de, str>, Value)>,
    value: Option<Value>,
    rest: A,
}

impl<'de, A: MapAccess<'de>> MapAccess<'de> for Fields<'de, A> {
    type Error = A::Error;

    fn next_key_seed<K: DeserializeSeed<'de>>(&mut self, seed: K) -> Result<Option<K::Value>, A::Error> {
        match self.before.next() {
            Some((key, value)) => {
                self.value = Some(value);
                seed.deserialize(key.into_deserializer()).map(Some)
            }
            None => self.rest.next_key_seed(seed),
        }
    }

    fn next_value_seed<V: DeserializeSeed<'de>>(&mut self, seed: V) -> Result<V::Value, A::Error> {
        match self.value.take() {
            Some(value) => seed.deserialize(value).map_err(A::Error::custom),
            None => self.rest.next_value_seed(seed),
        }
    }
}

/// Content in either of its two JSON forms. `null` is the empty text, as absent content is.
pub(crate) enum TextOrBlocks<B> {
    Text(String),
    Blocks(Vec<B>),
}

impl<'de, B: Deserialize<'de>> Deserialize<'de> for TextOrBlocks<B> {
    fn deserialize<D: Deserializer<'de>>(deserializer: D) -> Result<Self, D::Error> {
        struct EitherForm<B>(PhantomData<B>);
        impl<'de, B: Deserialize<'de>> Visitor<'de> for EitherForm<B> {
            type Value = TextOrBlocks<B>;

            fn expecting(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
                f.write_str("a text or a list of content blocks")
            }

            fn visit_str<E: Error>(self, text: &str) -> Result<Self::Value, E> {
                self.visit_string(text.to_owned())
            }

            fn visit_string<E: Error>(self, text: String) -> Result<Self::Value, E> {
                Ok(TextOrBlocks::Text(text))
            }

            fn visit_unit<E: Error>(self) -> Result<Self::Value, E> {
                self.visit_string(String::new())
            }

            fn visit_seq<A: SeqAccess<'de>>(self, seq: A) -> Result<Self::Value, A::Error> {
                Vec::deserialize(SeqAccessDeserializer::new(seq)).map(TextOrBlocks::Blocks)
            }
        }
        deserializer.deserialize_any(EitherForm(PhantomData))
    }
}

/// Lists of shared values: written and read as the values themselves.
pub(crate) mod arc_list {
    use std::sync::Arc;

    use serde::ser::SerializeSeq;
    use serde::{Deserialize, Deserializer, Serialize, Serializer};

    pub(crate) fn serialize<T: Serialize, S: Serializer>(
        list: &[Arc<T>],
        serializer: S,
    ) -> Result<S::Ok, S::Error> {
        let mut seq = serializer.serialize_seq(Some(list.len()))?;
        for item in list {
            seq.serialize_element(&**item)?;
        }
        seq.end()
    }

    pub(crate) fn deserialize<'de, T: Deserialize<'de>, D: Deserializer<'de>>(
        deserializer: D,
    ) -> Result<Vec<Arc<T>>, D::Error> {
        Ok(super::null_as_default::<Vec<T>, D>(deserializer)?.into_iter().map(Arc::new).collect())
    }
}

/// `null` reads as the default, as an absent field does: JSON writers elsewhere write `null` for what they lack, and for
/// a number that is none.
pub(crate) fn null_as_default<'de, T, D>(deserializer: D) -> Result<T, D::Error>
where
    T: Default + Deserialize<'de>,
    D: Deserializer<'de>,
{
    Ok(Option::<T>::deserialize(deserializer)?.unwrap_or_default())
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "a test may fail")]
mod tests {
    use serde_json::json;

    use crate::message::{SystemMessage, TextContent, UserContent, UserMessage};

    #[test]
    fn content_that_is_not_there_is_the_empty_text_whoever_speaks() {
        assert_eq!(UserContent::default(), UserContent::from(""));
        assert_eq!(TextContent::default(), TextContent::from(""));
        for fields in [json!({}), json!({ "content": null }), json!({ "content": "" })] {
            let message = |role: &str| {
                let mut message = fields.clone();
                message["role"] = role.into();
                message
            };
            let user: UserMessage = serde_json::from_value(message("user")).unwrap();
            assert_eq!(user.content, UserContent::default());
            let system: SystemMessage = serde_json::from_value(message("system")).unwrap();
            assert_eq!(system.content, TextContent::default());
        }
    }

    #[test]
    fn content_of_another_kind_is_refused() {
        let refused = serde_json::from_value::<UserContent>(json!(1)).unwrap_err().to_string();
        assert_eq!(refused, "invalid type: integer `1`, expected a text or a list of content blocks");
    }
}
