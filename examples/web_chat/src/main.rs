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
    let address = listener.local_addr()?;
    println!("{}", model.introduction());
    println!("Open http://{address} in a browser. Ctrl-C ends the server, and its conversations with it.");
    let service = WebChat::new(model, Limits::default()).router(hosts(address));
    // Event streams never end by themselves, so the server is not asked to finish what it has open.
    tokio::select! {
        served = axum::serve(listener, service) => Ok(served?),
        _ = tokio::signal::ctrl_c() => Ok(()),
    }
}

/// The names of the server beside those of the loopback: the address that it was told to listen on.
fn hosts(address: SocketAddr) -> Vec<String> {
    match address {
        SocketAddr::V4(address) => vec![address.ip().to_string()],
        SocketAddr::V6(address) => vec![format!("[{}]", address.ip())],
    }
}
