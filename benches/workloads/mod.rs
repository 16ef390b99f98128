//! The workloads that the crate's cost is measured by, each beside its floor: the least that anybody would have to do
//! for it. `cargo bench` runs them all; the example `workloads` runs one in a process of its own.

// Each of the two programs uses its part.
#![allow(dead_code, unused_imports)]

mod floors;
mod loads;
mod measure;
mod memory;
mod models;

pub(crate) use loads::{ALL, Workload};
pub(crate) use measure::{Measured, peak_rss_kb};
pub(crate) use memory::{BytesPerAgent, bytes_per_agent};
