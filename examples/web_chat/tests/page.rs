//! The page's own modules, without a browser: `page.mjs` reads a server's events with the page's code, from many
//! moments on.

mod support;

use std::time::Duration;

use support::{Server, find, node};
use web_chat::{ChatModel, Limits};

#[test]
fn pages_that_come_late_show_what_those_do_that_were_there_from_the_beginning() {
    // Node comes with the services: without them there may be none.
    if find("pages_that_come_late", "node_modules").is_none() {
        return;
    }
    // So few steps are kept that readers are likely to be shown further snapshots on the way.
    let mut limits = Limits::default();
    limits.steps = 2;
    let server = Server::start(ChatModel::demonstration(Duration::from_millis(2)), limits);
    node("page.mjs", &[&server.url()]);
}
