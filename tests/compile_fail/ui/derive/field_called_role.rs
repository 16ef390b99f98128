//! A message's JSON has one `role`.

use turnstate::CustomMessage;

#[derive(Debug, CustomMessage)]
#[message(rename_all_fields = "lowercase")]
enum App {
    #[message(skip)]
    Plain { role: String },
    #[message(skip)]
    Renamed {
        #[serde(rename = "role")]
        part: String,
    },
    #[message(skip)]
    Fine {
        #[serde(rename = "part")]
        role: String,
    },
    #[message(skip)]
    AlsoFine {
        #[serde(skip)]
        role: String,
    },
}

fn main() {}
