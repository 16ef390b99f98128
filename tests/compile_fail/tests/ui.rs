//! Every program in `ui/` fails to compile, with exactly the message beside it; every program in `pass/` runs.
//!
//! The messages are those of one toolchain, the one that the project is developed with. After a change that means to
//! change them, run with `TRYBUILD=overwrite` and read the difference.

/// One list for all topics: the programs are then built in one go. With the programs that pass they are built and not
/// only checked, since some rules are checked when a generic type's parameters are known.
#[test]
fn programs_that_break_a_rule_do_not_compile() {
    let tests = trybuild::TestCases::new();
    tests.compile_fail("ui/*/*.rs");
    tests.pass("pass/*.rs");
}
