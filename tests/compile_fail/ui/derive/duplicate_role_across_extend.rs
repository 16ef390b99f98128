//! A type and what it extends, at any depth, declare each role once.

use turnstate::CustomMessage;

mod first {
    use turnstate::CustomMessage;

    #[derive(Debug, CustomMessage)]
    pub enum FirstMessage {
        #[message(skip)]
        Note { text: String },
    }
}

mod second {
    use turnstate::CustomMessage;

    #[derive(Debug, CustomMessage)]
    pub enum SecondMessage {
        #[message(extend)]
        First(crate::first::FirstMessage),
        #[message(skip)]
        Status { text: String },
    }
}

#[derive(Debug, CustomMessage)]
enum OwnAndExtended {
    #[message(role = "status", skip)]
    Own { text: String },
    #[message(extend)]
    Plugin(second::SecondMessage),
}

mod third {
    use turnstate::CustomMessage;

    #[derive(Debug, CustomMessage)]
    #[message(role = "note", skip)]
    pub struct ThirdMessage {
        text: String,
    }
}

#[derive(Debug, CustomMessage)]
enum TwoExtended {
    #[message(extend)]
    Second(second::SecondMessage),
    #[message(extend)]
    Third(third::ThirdMessage),
}

#[derive(Debug, CustomMessage)]
enum ExtendedInTwoWays {
    #[message(extend)]
    First(first::FirstMessage),
    #[message(extend)]
    Second(second::SecondMessage),
}

fn main() {}
