//! A model is a function from a request to a stream of deltas.

use turnstate::Run;
use turnstate::model::Request;

fn main() {
    let _ = Run::builder(|_: Request| "Hello");
}
