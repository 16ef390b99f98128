//! Writing a custom message as one flat object: its role first, then its fields.

use std::fmt::{self, Write};

use serde::Serialize;
use serde::ser::{Error, Impossible, SerializeMap, SerializeStruct, Serializer};

use super::{CustomMessage, Roles};

/// The field that tells a message's role.
const ROLE: &str = "role";

/// Writes `role`, then the message's fields.
///
/// # Errors
/// Those of the serializer; and if the object would not read back as this message: its role is reserved, one of its
/// fields is called `role`, or its fields are no object at all.
pub(super) fn serialize_flat<M: CustomMessage, S: Serializer>(
    message: &M,
    serializer: S,
) -> Result<S::Ok, S::Error> {
    let role = message.role();
    if Roles::is_reserved(role) {
        return Err(S::Error::custom(format_args!("a custom message cannot have the role `{role}`")));
    }
    message.serialize_fields(RoleFirst { role, serializer })
}

/// A serializer for one object, which writes `role` before the object's own fields.
struct RoleFirst<'a, S> {
    role: &'a str,
    serializer: S,
}

/// Refuses the serializer methods for everything that is not an object of fields.
macro_rules! refuse {
    ($($method:ident($($arg:ty),*) -> $ok:ident;)*) => {$(
        fn $method(self, $(_: $arg),*) -> Result<Self::$ok, S::Error> {
            self.refuse()
        }
    )*};
}

impl<S: Serializer> RoleFirst<'_, S> {
    fn refuse<T>(self) -> Result<T, S::Error> {
        let role = self.role;
        Err(S::Error::custom(format_args!("the custom message `{role}` is not an object of fields")))
    }
}

impl<S: Serializer> Serializer for RoleFirst<'_, S> {
    type Ok = S::Ok;
    type Error = S::Error;
    type SerializeStruct = FieldsOf<S::SerializeStruct>;
    type SerializeMap = FieldsOf<S::SerializeMap>;
    type SerializeSeq = Impossible<S::Ok, S::Error>;
    type SerializeTuple = Impossible<S::Ok, S::Error>;
    type SerializeTupleStruct = Impossible<S::Ok, S::Error>;
    type SerializeTupleVariant = Impossible<S::Ok, S::Error>;
    type SerializeStructVariant = Impossible<S::Ok, S::Error>;

    fn serialize_struct(self, name: &'static str, len: usize) -> Result<Self::SerializeStruct, S::Error> {
        let mut fields = self.serializer.serialize_struct(name, len + 1)?;
        fields.serialize_field(ROLE, self.role)?;
        Ok(FieldsOf(fields))
    }

    fn serialize_map(self, len: Option<usize>) -> Result<Self::SerializeMap, S::Error> {
        let mut fields = self.serializer.serialize_map(len.map(|len| len + 1))?;
        fields.serialize_entry(ROLE, self.role)?;
        Ok(FieldsOf(fields))
    }

    /// No fields.
    fn serialize_unit(self) -> Result<S::Ok, S::Error> {
        self.serialize_map(Some(0))?.end()
    }

    /// No fields.
    fn serialize_unit_struct(self, _: &'static str) -> Result<S::Ok, S::Error> {
        self.serialize_unit()
    }

    fn serialize_newtype_struct<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        value: &T,
    ) -> Result<S::Ok, S::Error> {
        value.serialize(self)
    }

    fn serialize_some<T: ?Sized + Serialize>(self, value: &T) -> Result<S::Ok, S::Error> {
        value.serialize(self)
    }

    fn serialize_newtype_variant<T: ?Sized + Serialize>(
        self,
        _: &'static str,
        _: u32,
        _: &'static str,
        _: &T,
    ) -> Result<S::Ok, S::Error> {
        self.refuse()
    }

    refuse! {
        serialize_bool(bool) -> Ok;
        serialize_i8(i8) -> Ok;
        serialize_i16(i16) -> Ok;
        serialize_i32(i32) -> Ok;
        serialize_i64(i64) -> Ok;
        serialize_i128(i128) -> Ok;
        serialize_u8(u8) -> Ok;
        serialize_u16(u16) -> Ok;
        serialize_u32(u32) -> Ok;
        serialize_u64(u64) -> Ok;
        serialize_u128(u128) -> Ok;
        serialize_f32(f32) -> Ok;
        serialize_f64(f64) -> Ok;
        serialize_char(char) -> Ok;
        serialize_str(&str) -> Ok;
        serialize_bytes(&[u8]) -> Ok;
        serialize_none() -> Ok;
        serialize_unit_variant(&'static str, u32, &'static str) -> Ok;
        serialize_seq(Option<usize>) -> SerializeSeq;
        serialize_tuple(usize) -> SerializeTuple;
        serialize_tuple_struct(&'static str, usize) -> SerializeTupleStruct;
        serialize_tuple_variant(&'static str, u32, &'static str, usize) -> SerializeTupleVariant;
        serialize_struct_variant(&'static str, u32, &'static str, usize) -> SerializeStructVariant;
    }

    fn is_human_readable(&self) -> bool {
        self.serializer.is_human_readable()
    }
}

/// The fields after the role. A second `role` is refused: a reader would take one of the two, and not always ours.
struct FieldsOf<F>(F);

impl<F: SerializeStruct> SerializeStruct for FieldsOf<F> {
    type Ok = F::Ok;
    type Error = F::Error;

    fn serialize_field<T: ?Sized + Serialize>(
        &mut self,
        key: &'static str,
        value: &T,
    ) -> Result<(), F::Error> {
        if key == ROLE {
            return Err(second_role());
        }
        self.0.serialize_field(key, value)
    }

    fn skip_field(&mut self, key: &'static str) -> Result<(), F::Error> {
        self.0.skip_field(key)
    }

    fn end(self) -> Result<F::Ok, F::Error> {
        self.0.end()
    }
}

impl<F: SerializeMap> SerializeMap for FieldsOf<F> {
    type Ok = F::Ok;
    type Error = F::Error;

    fn serialize_key<T: ?Sized + Serialize>(&mut self, key: &T) -> Result<(), F::Error> {
        if is_role(key) {
            return Err(second_role());
        }
        self.0.serialize_key(key)
    }

    fn serialize_value<T: ?Sized + Serialize>(&mut self, value: &T) -> Result<(), F::Error> {
        self.0.serialize_value(value)
    }

    fn serialize_entry<K, V>(&mut self, key: &K, value: &V) -> Result<(), F::Error>
    where
        K: ?Sized + Serialize,
        V: ?Sized + Serialize,
    {
        if is_role(key) {
            return Err(second_role());
        }
        self.0.serialize_entry(key, value)
    }

    fn end(self) -> Result<F::Ok, F::Error> {
        self.0.end()
    }
}

fn second_role<E: Error>() -> E {
    E::custom("a field of a custom message cannot be called `role`")
}

/// Whether a map's key is the text `role`. A formatter is a serializer of texts, so no text is built to compare.
fn is_role<T: ?Sized + Serialize>(key: &T) -> bool {
    struct Shown<'a, T: ?Sized>(&'a T);
    impl<T: ?Sized + Serialize> fmt::Display for Shown<'_, T> {
        fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
            self.0.serialize(f)
        }
    }

    /// What is still to come of the text; a write of anything else fails.
    struct Expect(&'static str);
    impl Write for Expect {
        fn write_str(&mut self, text: &str) -> fmt::Result {
            self.0 = self.0.strip_prefix(text).ok_or(fmt::Error)?;
            Ok(())
        }
    }

    let mut expect = Expect(ROLE);
    write!(expect, "{}", Shown(key)).is_ok() && expect.0.is_empty()
}
