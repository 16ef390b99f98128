//! Arguments that are nearly right: the model's intention reaches the tool, or the model is told what to send.

use serde_json::{Value, json};
use turnstate::testing::{Response, ScriptedTool};
use turnstate::tool::schema::Coercion;
use turnstate::tool::{AgentTool, IntoTool, tool_fn};

use crate::support::*;

/// What comes of a value for one property, required or not.
fn property(schema: Value, value: Value, required: bool) -> Result<Value, String> {
    let mut object = json!({ "type": "object", "properties": { "v": schema } });
    if required {
        object["required"] = json!(["v"]);
    }
    checked_by(object, json!({ "v": value }))
}

#[track_caller]
fn table(schema: Value, rows: &[(Value, Result<Value, &str>)]) {
    for (value, expected) in rows {
        let expected = match expected {
            Ok(value) => Ok(json!({ "v": value })),
            Err(line) => Err(format!("- v: {line}")),
        };
        assert_eq!(property(schema.clone(), value.clone(), true), expected, "{schema} {value}");
    }
}

#[test]
fn null_stays_null_where_a_branch_allows_it() {
    for kind in ["number", "string", "boolean", "integer"] {
        table(json!({ "anyOf": [{ "type": kind }, { "type": "null" }] }), &[(json!(null), Ok(json!(null)))]);
        table(json!({ "type": [kind, "null"] }), &[(json!(null), Ok(json!(null)))]);
    }
}

#[test]
fn null_for_what_is_required_is_an_error() {
    table(json!({ "type": "number" }), &[(json!(null), Err("expected a number, got null"))]);
    table(json!({ "type": "string" }), &[(json!(null), Err("expected a string, got null"))]);
    table(json!({ "type": "boolean" }), &[(json!(null), Err("expected a boolean, got null"))]);
}

#[test]
fn null_for_what_is_optional_counts_as_absent_at_every_depth() {
    let inner = json!({ "type": "object", "properties": { "n": { "type": "number" } } });
    assert_eq!(property(json!({ "type": "number" }), json!(null), false), Ok(json!({})));
    assert_eq!(property(inner.clone(), json!({ "n": null }), false), Ok(json!({ "v": {} })));
    let list = json!({ "type": "array", "items": inner });
    assert_eq!(property(list, json!([{ "n": null }]), false), Ok(json!({ "v": [{}] })));
    let nullable = json!({ "type": ["number", "null"] });
    assert_eq!(property(nullable, json!(null), false), Ok(json!({ "v": null })));
}

#[test]
fn json_text_is_the_array_it_says_only_when_that_fits() {
    table(
        json!({ "type": "array", "items": { "type": "string" } }),
        &[
            (json!(r#"["a"]"#), Ok(json!(["a"]))),
            (json!("a"), Ok(json!(["a"]))),
            (json!(["a"]), Ok(json!(["a"]))),
            (json!({ "0": "a" }), Err(r#"expected an array, got the object {"0":"a"}"#)),
        ],
    );
    let wants_text =
        json!({ "anyOf": [{ "type": "string" }, { "type": "array", "items": { "type": "string" } }] });
    table(wants_text, &[(json!(r#"["a"]"#), Ok(json!(r#"["a"]"#)))]);
}

#[test]
fn a_tool_may_repair_its_arguments_before_they_are_checked() {
    let schema = json!({ "type": "object", "properties": { "q": { "type": "array" } }, "required": ["q"] });
    let tool =
        ScriptedTool::new("t").with_schema(schema).into_tool().with_argument_preparation(|mut arguments| {
            let old = arguments.remove("query").ok_or("`query` or `q` is missing")?;
            arguments.insert("q".to_owned(), json!([old]));
            Ok(arguments)
        });
    let call = |arguments| Response::tool_call("c", "t", arguments);
    assert_eq!(called_with(tool.clone(), call(json!({ "query": 1 }))), Ok(json!({ "q": [1] })));
    assert_eq!(called_with(tool, call(json!({}))), Err("`query` or `q` is missing".to_owned()));
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Wait {
    milliseconds: i64,
}

fn wait() -> AgentTool {
    tool_fn("t", "Waits.", async |args: Wait, _| Ok(format!("waited {}", args.milliseconds)))
}

#[test]
fn an_integer_in_any_spelling_reaches_a_typed_tool_and_none_is_rounded() {
    for (text, milliseconds) in
        [("120000.0", 120_000), ("6e4", 60_000), (r#""20.0""#, 20), (r#"" 7 ""#, 7), ("-0.0", 0), ("true", 1)]
    {
        let call = Response::new().and_raw_tool_call("c", "t", format!(r#"{{"milliseconds":{text}}}"#));
        assert_eq!(
            called_with(wait(), call).map_err(|error| format!("{text}: {error}")),
            Ok(json!({ "milliseconds": milliseconds }))
        );
    }
    for (text, got) in [
        ("1.5", "the number 1.5"),
        (r#""abc""#, r#"the string "abc""#),
        (r#""""#, r#"the string """#),
        (r#""0x10""#, r#"the string "0x10""#),
    ] {
        let call = Response::new().and_raw_tool_call("c", "t", format!(r#"{{"milliseconds":{text}}}"#));
        let error =
            format!("invalid arguments for the tool `t`:\n- milliseconds: expected an integer, got {got}");
        assert_eq!(called_with(wait(), call), Err(error));
    }
}

#[test]
fn an_integer_beyond_the_type_of_its_tool_is_refused_and_not_cut() {
    for text in ["1e30", "9223372036854775808", r#""9223372036854775808""#, "-1e19"] {
        let call = Response::new().and_raw_tool_call("c", "t", format!(r#"{{"milliseconds":{text}}}"#));
        let model = turnstate::testing::ScriptedModel::new([call, "done".into()]);
        let run = finish(turnstate::Run::builder(model).tool(wait()).build().prompt("go"));
        let told = story(run.transcript())[2].clone();
        assert!(told.starts_with("error c: ") && told.contains("milliseconds"), "{text}: {told}");
    }
}

#[test]
fn a_boolean_is_never_guessed() {
    let no = |text: &'static str| (json!(text), text);
    let mut rows: Vec<(Value, Result<Value, &str>)> = vec![
        (json!("false"), Ok(json!(false))),
        (json!("False"), Ok(json!(false))),
        (json!("TRUE"), Ok(json!(true))),
        (json!(0), Ok(json!(false))),
        (json!(1), Ok(json!(true))),
    ];
    let errors: Vec<(Value, String)> = ["no", "yes", "maybe", "0", "", "off"]
        .map(no)
        .map(|(value, text)| (value, format!("expected a boolean, got the string \"{text}\"")))
        .into();
    rows.extend(errors.iter().map(|(value, line)| (value.clone(), Err(line.as_str()))));
    rows.push((json!(2), Err("expected a boolean, got the integer 2")));
    table(json!({ "type": "boolean" }), &rows);
}

#[test]
fn a_list_of_types_keeps_what_fits_and_converts_the_rest() {
    table(
        json!({ "type": ["integer", "string"] }),
        &[(json!(3), Ok(json!(3))), (json!("3"), Ok(json!("3")))],
    );
    table(
        json!({ "type": ["integer", "null"] }),
        &[(json!("42"), Ok(json!(42))), (json!(null), Ok(json!(null)))],
    );
}

#[test]
fn every_problem_of_a_call_is_told_with_its_path_in_one_line() {
    let closed = json!({ "type": "object", "properties": { "x": {} }, "additionalProperties": false });
    let literals: Vec<Value> = ["a", "b", "c", "d", "e", "f"].map(|text| json!({ "const": text })).into();
    let schema = json!({
        "type": "object",
        "properties": {
            "a": { "type": "array", "items": { "type": "object", "properties": { "b": { "type": "integer" } } } },
            "mode": { "enum": ["r", "w"] },
            "kind": { "anyOf": literals },
            "closed": closed,
        },
        "required": ["path"],
    });
    let tool = ScriptedTool::new("edit").with_schema(schema);
    let arguments = json!({ "a": [{ "b": "x" }], "mode": "q", "kind": "z", "closed": { "y": 1 } });
    let error = called_with(tool, Response::tool_call("c", "edit", arguments)).unwrap_err();
    let mut lines: Vec<&str> = error.lines().collect();
    assert_eq!(lines.remove(0), "invalid arguments for the tool `edit`:");
    lines.sort_unstable();
    assert_eq!(
        lines,
        [
            r#"- a.0.b: expected an integer, got the string "x""#,
            "- closed.y: expected no other key than `x`, got an unknown key",
            r#"- kind: expected one of "a", "b", "c", "d", "e", "f", got the string "z""#,
            r#"- mode: expected one of "r", "w", got the string "q""#,
            "- path: expected a value, got nothing (the key is missing)",
        ]
    );
}

#[test]
fn a_megabyte_of_wrong_arguments_comes_back_as_a_line() {
    // One, two, three bytes before the emoji: the cut lies on no border by chance.
    for ahead in ["", "a", "é", "你"] {
        let value = format!("{ahead}{}", "😀".repeat(250_000));
        let error = property(json!({ "type": "integer" }), json!(value), true).unwrap_err();
        assert!(error.len() < 250, "{}", error.len());
        assert!(error.contains(&format!("… (cut, {} bytes in all)", value.len() + 2)), "{error}");
    }
}

#[test]
fn a_strict_tool_converts_nothing() {
    let schema = json!({ "type": "object", "properties": { "v": { "type": "integer" } } });
    let tool = ScriptedTool::new("t").with_schema(schema).into_tool().with_coercion(Coercion::Strict);
    let call = |value: Value| Response::tool_call("c", "t", json!({ "v": value }));
    assert_eq!(called_with(tool.clone(), call(json!(20))), Ok(json!({ "v": 20 })));
    let error =
        "invalid arguments for the tool `t`:\n- v: expected an integer, got the string \"20\"".to_owned();
    assert_eq!(called_with(tool.clone(), call(json!("20"))), Err(error));
    assert!(called_with(tool, call(json!(null))).is_err());
}

#[derive(serde::Deserialize, schemars::JsonSchema)]
struct Pick {
    /// Its schema says less than its type: the text is read by the type alone.
    #[schemars(with = "String")]
    kind: Kind,
}

#[derive(Debug, serde::Deserialize)]
#[serde(rename_all = "lowercase")]
enum Kind {
    One,
    Two,
}

#[test]
fn what_only_the_type_of_a_tool_refuses_is_told_with_its_path_and_echoed_without_end_never() {
    let pick = || tool_fn("pick", "", async |args: Pick, _| Ok(format!("{:?}", args.kind)));
    let told = |kind: &str| {
        let run = turnstate::Run::builder(turnstate::testing::ScriptedModel::new([
            Response::tool_call("c", "pick", json!({ "kind": kind })),
            "done".into(),
        ]));
        story(finish(run.tool(pick()).build().prompt("go")).transcript())[2].clone()
    };
    assert_eq!(told("two"), "result c: Two");
    assert_eq!(
        told("three"),
        "error c: The arguments for tool `pick` do not fit: `kind`: unknown variant `three`, expected `one` or `two`"
    );
    for ahead in ["", "a", "é", "你"] {
        let text = told(&format!("{ahead}{}", "😀".repeat(250_000)));
        assert!(text.len() < 1200 && text.ends_with(" bytes in all)"), "{} bytes", text.len());
    }
}
