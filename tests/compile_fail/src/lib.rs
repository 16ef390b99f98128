//! Programs that must not compile. They stand in `ui/<topic>/<rule>.rs`, each with the whole message that the compiler
//! must give in `<rule>.stderr` beside it; `tests/ui.rs` runs them.
