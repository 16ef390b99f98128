//! A generic type whose extension has roles of its own is built.

use turnstate::CustomMessage;
use turnstate::message::AgentMessage;

#[derive(Debug, CustomMessage)]
#[message(skip)]
struct Status {
    text: String,
}

#[derive(Debug, CustomMessage)]
enum App<P: CustomMessage> {
    #[message(role = "note", user = "{text}")]
    Own { text: String },
    #[message(extend)]
    Plugin(P),
}

fn main() {
    let plugin: AgentMessage<App<Status>> = App::Plugin(Status { text: String::new() }).into();
    assert!(plugin.project().messages().is_empty());
    let own: AgentMessage<App<Status>> = App::Own { text: "text".to_owned() }.into();
    assert_eq!(own.project().messages().len(), 1);
}
