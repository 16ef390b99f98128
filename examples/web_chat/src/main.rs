//! A web page where a person chats with an agent.
fn main() {}
