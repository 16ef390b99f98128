//! The derive macro of the `turnstate` crate.
