//! The program: reads the environment, listens, serves until Ctrl-C.

use std::error::Error;
use std::net::SocketAddr;
use std::process::ExitCode;

use web_chat::{ChatModel, Limits, WebChat};

/// Where it listens, unless `TURNSTATE_ADDRESS` says otherwise: on this machine alone.
const ADDRESS: &str = "127.0.0.1:8787";

#[tokio::main]
async fn main() -> ExitCode {
    match serve().await {
        Ok(()) => ExitCode::SUCCESS,
        Err(error) => {
            eprintln!("{error}");
            ExitCode::FAILURE
        }
    }
}

async fn serve() -> Result<(), Box<dyn Error>> {
    let variable = |name: &str| std::env::var(name).ok();
    let model = ChatModel::choose(variable)?;
    let address = variable("TURNSTATE_ADDRESS").unwrap_or_else(|| ADDRESS.to_owned());
    let listener = tokio::net::TcpListener::bind(&address)
        .await
        .map_err(|error| format!("TURNSTATE_ADDRESS: cannot listen on {address}: {error}"))?;
    let bound = listener.local_addr()?;
    let open =
        if bound.ip().is_unspecified() { format!("localhost:{}", bound.port()) } else { bound.to_string() };
    println!("{}", model.introduction());
    println!("Open http://{open} in a browser. Ctrl-C ends the server, and its conversations with it.");
    let hosts = hosts(&address, bound, &variable("TURNSTATE_HOSTS").unwrap_or_default());
    let service = WebChat::new(model, Limits::default()).router(hosts);
    // Event streams never end by themselves, so the server is not asked to finish what it has open.
    tokio::select! {
        served = axum::serve(listener, service) => Ok(served?),
        _ = tokio::signal::ctrl_c() => Ok(()),
    }
}

/// The names of the server beside those of the loopback: the address that it was told to listen on, as it was written and
/// as it was found, and those of a list with commas.
fn hosts(asked: &str, bound: SocketAddr, listed: &str) -> Vec<String> {
    let found = match bound {
        SocketAddr::V4(bound) => bound.ip().to_string(),
        SocketAddr::V6(bound) => format!("[{}]", bound.ip()),
    };
    let written = asked.rsplit_once(':').map_or(asked, |(name, _)| name);
    let listed = listed.split(',').map(str::trim).filter(|name| !name.is_empty());
    [found.as_str(), written].into_iter().chain(listed).map(str::to_owned).collect()
}

#[cfg(test)]
#[allow(clippy::unwrap_used, reason = "tests fail by panicking")]
mod tests {
    use super::*;

    #[test]
    fn the_server_goes_by_the_name_that_it_was_told_to_listen_on() {
        let table: [(&str, &str, &str, &[&str]); 3] = [
            ("chat.example:8787", "192.168.0.7:8787", "", &["192.168.0.7", "chat.example"]),
            ("[::]:80", "[::]:80", "", &["[::]", "[::]"]),
            ("0.0.0.0:80", "0.0.0.0:80", " a.example, ,b", &["0.0.0.0", "0.0.0.0", "a.example", "b"]),
        ];
        for (asked, bound, listed, names) in table {
            assert_eq!(hosts(asked, bound.parse().unwrap(), listed), names);
        }
    }
}
