//! A transcript with custom messages needs a run that knows them, and the other way round.

use turnstate::message::Unknown;
use turnstate::model::{BoxDeltaStream, Request};
use turnstate::{Run, Transcript};

fn model(_: Request) -> BoxDeltaStream {
    loop {}
}

fn main() {
    let saved = Transcript::<Unknown>::new();
    let _ = Run::builder(model).transcript(saved).build();

    let plain: Transcript = Transcript::new();
    let _ = Run::builder(model).custom_messages::<Unknown>().transcript(plain).build();
}
