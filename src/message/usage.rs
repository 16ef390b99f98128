//! What an answer, or a tool, used and cost.

use std::ops::AddAssign;

use serde::{Deserialize, Serialize, Serializer};

use super::json::null_as_default;

/// Token counts of one model answer, or of what a tool used by itself.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Usage {
    /// Tokens read from the request, without those read from a cache.
    #[serde(deserialize_with = "null_as_default")]
    pub input: u64,
    /// Tokens written.
    #[serde(deserialize_with = "null_as_default")]
    pub output: u64,
    /// Tokens read from the provider's cache.
    #[serde(deserialize_with = "null_as_default")]
    pub cache_read: u64,
    /// Tokens written to the provider's cache.
    #[serde(deserialize_with = "null_as_default")]
    pub cache_write: u64,
    /// The part of `cache_write` that is kept for an hour.
    #[serde(rename = "cacheWrite1h", skip_serializing_if = "Option::is_none")]
    pub cache_write_1h: Option<u64>,
    /// The part of `output` that was thinking.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub reasoning: Option<u64>,
    /// All tokens of the request and the answer.
    #[serde(deserialize_with = "null_as_default")]
    pub total_tokens: u64,
    /// What they cost.
    #[serde(deserialize_with = "null_as_default")]
    pub cost: Cost,
}

impl Usage {
    /// Usage of `input` tokens read and `output` tokens written, without a cache.
    #[must_use]
    pub fn new(input: u64, output: u64) -> Self {
        Self { input, output, total_tokens: input.saturating_add(output), ..Self::default() }
    }
}

impl AddAssign for Usage {
    /// Adds up every count; sums saturate.
    fn add_assign(&mut self, other: Self) {
        fn add(a: Option<u64>, b: Option<u64>) -> Option<u64> {
            match (a, b) {
                (None, None) => None,
                (a, b) => Some(a.unwrap_or(0).saturating_add(b.unwrap_or(0))),
            }
        }
        self.input = self.input.saturating_add(other.input);
        self.output = self.output.saturating_add(other.output);
        self.cache_read = self.cache_read.saturating_add(other.cache_read);
        self.cache_write = self.cache_write.saturating_add(other.cache_write);
        self.cache_write_1h = add(self.cache_write_1h, other.cache_write_1h);
        self.reasoning = add(self.reasoning, other.reasoning);
        self.total_tokens = self.total_tokens.saturating_add(other.total_tokens);
        self.cost += other.cost;
    }
}

/// Money, in the currency units of the host's price list.
#[derive(Debug, Clone, Copy, PartialEq, Default, Serialize, Deserialize)]
#[serde(rename_all = "camelCase", default)]
#[non_exhaustive]
pub struct Cost {
    /// For tokens read.
    #[serde(serialize_with = "shortest_number", deserialize_with = "null_as_default")]
    pub input: f64,
    /// For tokens written.
    #[serde(serialize_with = "shortest_number", deserialize_with = "null_as_default")]
    pub output: f64,
    /// For tokens read from a cache.
    #[serde(serialize_with = "shortest_number", deserialize_with = "null_as_default")]
    pub cache_read: f64,
    /// For tokens written to a cache.
    #[serde(serialize_with = "shortest_number", deserialize_with = "null_as_default")]
    pub cache_write: f64,
    /// The sum; or what the provider says that it bills.
    #[serde(serialize_with = "shortest_number", deserialize_with = "null_as_default")]
    pub total: f64,
    /// Whether `total` is what the provider bills; otherwise, as where it is not set, it is an estimate.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub total_from_provider: Option<bool>,
}

impl AddAssign for Cost {
    /// Adds up every amount. A sum is what providers bill only if each of its parts is.
    fn add_assign(&mut self, other: Self) {
        let nothing = Self::default();
        self.total_from_provider = match (self.total_from_provider, other.total_from_provider) {
            (_, told) if *self == nothing => told,
            (told, _) if other == nothing => told,
            (None, None) => None,
            (a, b) => Some(a == Some(true) && b == Some(true)),
        };
        self.input += other.input;
        self.output += other.output;
        self.cache_read += other.cache_read;
        self.cache_write += other.cache_write;
        self.total += other.total;
    }
}

/// Whole amounts are written as integers (`0`, not `0.0`), so that a session saved elsewhere saves back the same.
#[allow(clippy::trivially_copy_pass_by_ref, reason = "the signature is serde's")]
fn shortest_number<S: Serializer>(amount: &f64, serializer: S) -> Result<S::Ok, S::Error> {
    const EXACT: f64 = 9_007_199_254_740_992.0;
    if amount.fract() == 0.0 && amount.abs() < EXACT {
        #[allow(clippy::cast_possible_truncation, reason = "whole and below 2^53")]
        serializer.serialize_i64(*amount as i64)
    } else {
        serializer.serialize_f64(*amount)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_sum_is_billed_only_if_each_of_its_parts_is() {
        let cost = |total, total_from_provider| Cost { total, total_from_provider, ..Cost::default() };
        for (parts, sum) in [
            (vec![cost(1.0, Some(true))], cost(1.0, Some(true))),
            (vec![cost(1.0, Some(true)), cost(2.0, Some(true))], cost(3.0, Some(true))),
            (vec![cost(1.0, Some(true)), Cost::default()], cost(1.0, Some(true))),
            (vec![cost(1.0, Some(true)), cost(2.0, Some(false))], cost(3.0, Some(false))),
            (vec![cost(1.0, Some(true)), cost(2.0, None)], cost(3.0, Some(false))),
            (vec![cost(1.0, None), cost(2.0, Some(true))], cost(3.0, Some(false))),
            (vec![cost(1.0, None), cost(2.0, None)], cost(3.0, None)),
        ] {
            let mut added = Cost::default();
            parts.iter().for_each(|part| added += *part);
            assert_eq!(added, sum, "{parts:?}");
        }
    }
}
