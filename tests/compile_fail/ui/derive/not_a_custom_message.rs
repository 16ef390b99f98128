//! Where a custom message is asked for, the message says to derive it.

#[derive(Debug)]
enum App {}

fn needs<M: turnstate::CustomMessage>() {}

fn main() {
    needs::<App>();
}
