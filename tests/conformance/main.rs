//! Replays the reference traces and compares.
//!
//! The data lies beside this file; `TURNSTATE_CONFORMANCE_DIR` names another directory of the same layout. Each mismatch
//! is named, and at the end stands one line for each kind: `conformance: KIND: P of N, excused K`.
#![cfg(feature = "validate")]
#![allow(clippy::unwrap_used, clippy::expect_used, reason = "a test fails by panicking")]

mod anywhere;
mod compare;
mod excuse;
mod executor;
mod functions;
mod grammar;
mod lossy;
mod play;
mod record;
mod script;
mod shape;
mod stage;
#[cfg(feature = "proxy")]
#[path = "../provider/support.rs"]
#[allow(dead_code, reason = "the tests of the providers need more of it")]
mod support;

use std::collections::BTreeMap;
use std::fmt::Write as _;

use functions::Verdict;
use record::{Record, VectorFile};

#[test]
fn the_reference_traces_agree() {
    let dir = record::data_dir();
    let mut report = Report::default();
    report.records("cases", record::cases(&dir));
    report.records("random", record::random(&dir));
    for file in record::vector_files(&dir) {
        report.vectors(&file);
    }
    report.print();
    assert!(!report.is_empty(), "there is no data in {}", dir.display());
    assert!(report.is_good(), "the traces differ");
}

/// What came out, kind by kind.
#[derive(Default)]
struct Report {
    kinds: Vec<Kind>,
    mismatches: String,
    /// How many records each rule excuses.
    rules: BTreeMap<&'static str, usize>,
    /// Records that agree although a rule excuses them: the rule may be too wide.
    needless: Vec<String>,
}

struct Kind {
    name: String,
    passed: usize,
    total: usize,
    excused: usize,
}

impl Report {
    fn records(&mut self, name: &str, records: Vec<Record>) {
        let mut kind = Kind { name: name.to_owned(), passed: 0, total: 0, excused: 0 };
        for record in records {
            self.record(&mut kind, &record);
        }
        self.kinds.push(kind);
    }

    /// A record passes if it does in every way.
    fn record(&mut self, kind: &mut Kind, record: &Record) {
        let excused = excuse::excuse(record);
        let mut agrees = true;
        let mut passes = true;
        for way in play::ways(&record.scenario) {
            let played = play::play(&record.scenario, *way);
            let broken = grammar::check(&played.trace, &played.ledger).err();
            let differs = compare::first_difference(&played.trace, record);
            agrees &= differs.is_none();
            let wrong = match (broken, excused) {
                (Some(broken), _) => Some(format!("an invariant is broken: {broken}")),
                (None, None) => differs,
                (None, Some(_)) => None,
            };
            if let Some(wrong) = wrong {
                passes = false;
                self.mismatch(&format!("{} by {way:?}", record.name), &wrong);
            }
        }
        match excused {
            None => {
                kind.total += 1;
                kind.passed += usize::from(passes);
            }
            Some(rule) => {
                kind.excused += 1;
                *self.rules.entry(rule).or_default() += 1;
                if agrees {
                    self.needless.push(format!("{} ({rule})", record.name));
                }
            }
        }
    }

    fn vectors(&mut self, file: &VectorFile) {
        let mut kind = Kind { name: file.kind.clone(), passed: 0, total: 0, excused: 0 };
        for (number, vector) in file.vectors.iter().enumerate() {
            kind.total += 1;
            match functions::check(&file.kind, vector) {
                Verdict::Agrees => kind.passed += 1,
                Verdict::Differs(difference) => {
                    self.mismatch(
                        &format!("{} {number}", file.kind),
                        &format!("{difference}\n      for {vector}"),
                    );
                }
                Verdict::Excused(rule) => {
                    kind.total -= 1;
                    kind.excused += 1;
                    *self.rules.entry(rule).or_default() += 1;
                }
            }
        }
        self.kinds.push(kind);
    }

    fn mismatch(&mut self, name: &str, what: &str) {
        let _ = writeln!(self.mismatches, "  {name}: {what}");
    }

    fn print(&self) {
        print!("{}", self.mismatches);
        for needless in &self.needless {
            println!("excused, though it agrees: {needless}");
        }
        for (rule, count) in &self.rules {
            println!("excused by rule: {rule}: {count}");
        }
        for Kind { name, passed, total, excused } in &self.kinds {
            println!("conformance: {name}: {passed} of {total}, excused {excused}");
        }
    }

    fn is_empty(&self) -> bool {
        self.kinds.iter().all(|kind| kind.total + kind.excused == 0)
    }

    fn is_good(&self) -> bool {
        self.mismatches.is_empty()
    }
}
