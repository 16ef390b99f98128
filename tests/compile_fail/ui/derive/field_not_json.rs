//! Fields can be written and read; the error is at the field's type.

use serde as _;
use turnstate::CustomMessage;

#[derive(Debug)]
struct Opaque;

#[derive(Debug, CustomMessage)]
enum App {
    #[message(skip)]
    Named { opaque: Opaque },
    #[message(skip)]
    Newtype(Opaque),
}

fn main() {}
