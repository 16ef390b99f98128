//! Real models and the proxy, against fakes, recordings and servers on loopback.

#![allow(clippy::unwrap_used, clippy::expect_used, reason = "tests")]

mod aimock;
mod blocking;
mod faults;
mod genai;
mod openai;
mod proxy_requests;
mod proxy_server;
mod reference_client;
mod reference_server;
mod services;
mod smollm2;
mod support;
