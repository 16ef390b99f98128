//! A hook says for which messages it is.

use turnstate::hook::Hook;

struct Watch;

impl Hook for Watch {}

fn main() {}
