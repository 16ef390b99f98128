//! stub
#![allow(missing_docs)]
use serde_json::{Map, Value};
#[derive(Debug, Default, Clone)]
pub struct ArgumentsBuilder(String, Option<Value>);
impl ArgumentsBuilder {
    pub fn push(&mut self, f: &str) {
        self.0.push_str(f);
        self.1 = serde_json::from_str(&self.0).ok();
    }
    pub fn object(&self) -> Option<&Map<String, Value>> {
        self.1.as_ref().and_then(|v| v.as_object())
    }
    pub fn finish(self) -> Result<Map<String, Value>, serde_json::Error> {
        if self.0.trim().is_empty() {
            return Ok(Map::new());
        }
        serde_json::from_str(&self.0)
    }
}
