//! Schemas as they come in the wild.

use std::process::Command;

use serde_json::{Map, Value, json};
use turnstate::Run;
use turnstate::testing::{Response, ScriptedModel, ScriptedTool, block_on, call_tool};
use turnstate::tool::schema::SchemaError;
use turnstate::tool::{AgentTool, IntoTool, tool_fn};

use crate::support::*;

#[test]
fn a_type_that_contains_itself_is_checked_and_coerced_at_each_level() {
    for definitions in ["$defs", "definitions"] {
        let node = json!({
            "type": "object",
            "properties": {
                "n": { "type": "integer" },
                "children": { "type": "array", "items": { "$ref": format!("#/{definitions}/Node") } },
            },
        });
        let mut schema = json!({ "type": "object", "properties": { "root": { "$ref": format!("#/{definitions}/Node") } } });
        schema[definitions] = json!({ "Node": node });
        let tree = |leaf: Value| json!({ "root": { "n": "1", "children": [{ "n": 2.0, "children": [{ "n": leaf }] }] } });
        let coerced = json!({ "root": { "n": 1, "children": [{ "n": 2, "children": [{ "n": 3 }] }] } });
        assert_eq!(checked_by(schema.clone(), tree(json!("3"))), Ok(coerced));
        assert_eq!(
            checked_by(schema, tree(json!("x"))),
            Err(r#"- root.children.0.children.0.n: expected an integer, got the string "x""#.to_owned())
        );
    }
}

fn raw(name: &str, schema: Value) -> Result<AgentTool, SchemaError> {
    AgentTool::raw(name, "", schema, async |_, _| Ok("ok"))
}

#[test]
fn a_reference_to_itself_without_data_is_an_error() {
    for definition in [json!({ "$ref": "#/$defs/a" }), json!({ "anyOf": [{ "$ref": "#/$defs/b" }] })] {
        let defs = json!({ "a": definition, "b": { "allOf": [{ "$ref": "#/$defs/a" }] } });
        let error =
            raw("t", json!({ "properties": { "v": { "$ref": "#/$defs/a" } }, "$defs": defs })).unwrap_err();
        let text = error.to_string();
        assert!(text.starts_with("the schema refers to itself at `"), "{text}");
        assert!(text.ends_with("` without descending into the data"), "{text}");
    }
}

/// Arguments are an object, so a text is no type for them.
fn takes_a_text() -> AgentTool {
    tool_fn("shout", "Shouts.", async |text: String, _| Ok(text.to_uppercase()))
}

#[test]
fn a_tool_whose_schema_cannot_be_used_says_so_to_the_host_and_in_each_call() {
    let fault = "a tool's schema is a JSON object that describes an object, not one of the type \"string\"";
    let tool = takes_a_text();
    assert_eq!(tool.schema_fault().unwrap().to_string(), fault);
    assert_eq!(*tool.declaration().parameters, json!({ "type": "object" }));
    for arguments in [json!({}), json!({ "text": "hi" })] {
        let called = block_on(call_tool(tool.clone(), arguments));
        assert!(called.is_error());
        assert_eq!(
            called.text(),
            format!(
                "Tool `shout` cannot be called, whatever the arguments: {fault}. This is a mistake in the program that \
                 offers it: go on without the tool."
            )
        );
    }
    let sound = raw("t", json!({ "type": "object" })).unwrap();
    assert_eq!(sound.schema_fault(), None);
}

#[test]
fn a_schema_that_nests_without_end_is_an_error_and_is_dropped_safely() {
    // Put together by hand, since `json!` copies level by level.
    let mut value = json!({});
    for _ in 0..100_000 {
        value = Value::Array(vec![value]);
    }
    let schema = Value::Object(Map::from_iter([("enum".to_owned(), value)]));
    let error = raw("t", schema).unwrap_err();
    assert_eq!(error.to_string(), "the schema nests, or its references lead on, deeper than 128 levels");
}

#[test]
fn tools_of_every_draft_and_of_one_id_live_side_by_side() {
    let pair = json!([{ "type": "number" }, { "type": "string" }]);
    let drafts = [
        (Some("http://json-schema.org/draft-07/schema#"), json!({ "items": pair })),
        (Some("https://json-schema.org/draft/2019-09/schema"), json!({ "items": pair })),
        (Some("https://json-schema.org/draft/2020-12/schema"), json!({ "prefixItems": pair })),
        (None, json!({ "prefixItems": pair })),
    ];
    let names = ["a", "b", "c", "d"];
    let tools = names.iter().zip(drafts).map(|(name, (draft, tuple))| {
        let mut schema =
            json!({ "$id": "https://same.example/id", "type": "object", "properties": { "v": tuple } });
        if let Some(draft) = draft {
            schema["$schema"] = json!(draft);
        }
        ScriptedTool::new(*name).with_schema(schema).into_tool()
    });
    for (v, fits) in [(json!([1, "a"]), true), (json!(["a", null]), false)] {
        let answer = names
            .iter()
            .fold(Response::new(), |answer, name| answer.and_tool_call(*name, *name, json!({ "v": v })));
        let model = ScriptedModel::new([answer, "done".into()]);
        let run = finish(Run::builder(model).tools(tools.clone()).build().prompt("go"));
        for (line, name) in story(run.transcript())[2..6].iter().zip(names) {
            let expected = if fits {
                format!("result {name}: ok")
            } else {
                format!(
                    "error {name}: invalid arguments for the tool `{name}`:\n- v.0: expected a number, got the string \
                     \"a\"\n- v.1: expected a string, got null"
                )
            };
            assert_eq!(*line, expected);
        }
    }
}

#[derive(Debug, PartialEq, serde::Deserialize, serde::Serialize, schemars::JsonSchema)]
struct Numbers {
    a: u64,
    b: f64,
    c: Option<u32>,
    d: usize,
}

#[test]
fn formats_of_rusts_numbers_are_no_obstacle_and_an_option_may_be_absent_or_null() {
    let tool = || tool_fn("t", "", async |args: Numbers, _| Ok(serde_json::to_value(&args)?));
    let call = |arguments: Value| called_with(tool(), Response::tool_call("c", "t", arguments));
    for absent in
        [json!({ "a": u64::MAX, "b": 0.5, "d": 1 }), json!({ "a": u64::MAX, "b": 0.5, "c": null, "d": 1 })]
    {
        assert_eq!(call(absent.clone()), Ok(absent));
    }
    let error = call(json!({ "a": -1, "b": "x", "d": 1 })).unwrap_err();
    assert!(error.contains("- a: expected at least 0, got the integer -1"), "{error}");
    assert!(error.contains("- b: expected a number, got the string \"x\""), "{error}");
}

#[test]
fn formats_that_nobody_knows_are_passed_over_without_a_word() {
    const WITHIN: &str = "TURNSTATE_TEST_WITHOUT_A_WORD";
    if std::env::var_os(WITHIN).is_some() {
        let property = |format: &str| json!({ "type": "integer", "format": format });
        let schema = json!({ "properties": { "a": property("uint64"), "b": property("made-up") } });
        assert_eq!(checked_by(schema, json!({ "a": 1, "b": "2" })), Ok(json!({ "a": 1, "b": 2 })));
        return;
    }
    // Once more in a process of its own, where every line that anybody writes is seen.
    let name = "schema_features::formats_that_nobody_knows_are_passed_over_without_a_word";
    let told = Command::new(std::env::current_exe().unwrap())
        .args(["--exact", name, "--nocapture", "--test-threads=1"])
        .env(WITHIN, "yes")
        .output()
        .unwrap();
    let (out, err) = (String::from_utf8_lossy(&told.stdout), String::from_utf8_lossy(&told.stderr));
    assert!(told.status.success() && out.contains("1 passed"), "{out}{err}");
    assert_eq!(err, "");
    assert!(!out.replace(name, "").contains("format"), "{out}");
}

#[test]
fn a_wrong_key_is_an_error_in_a_closed_object_and_is_passed_on_in_an_open_one() {
    let object = |closed: bool| json!({ "type": "object", "properties": { "path": {} }, "additionalProperties": !closed });
    let arguments = json!({ "path": 1, "paht": { "deep": 1.0 } });
    assert_eq!(checked_by(object(false), arguments.clone()), Ok(arguments.clone()));
    let told = "- paht: expected no other key than `path`, got an unknown key";
    assert_eq!(checked_by(object(true), arguments), Err(told.to_owned()));
}

#[test]
fn patterns_of_the_web_are_understood_and_one_that_is_none_spoils_its_tool_alone() {
    let with = |pattern: &str| json!({ "type": "object", "properties": { "v": { "type": "string", "pattern": pattern } } });
    for (pattern, fits, does_not) in [
        (r"^(?!eo:)", "x", "eo:x"),
        (r"^[\w\-\.\+]+$", "CC-BY-4.0", "a b"),
        (r"^\p{L}+$", "é", "1"),
        (r"(a)\1", "aa", "ab"),
    ] {
        assert!(checked_by(with(pattern), json!({ "v": fits })).is_ok(), "{pattern}");
        assert_eq!(
            checked_by(with(pattern), json!({ "v": does_not })),
            Err(format!(
                "- v: expected a string that matches the pattern `{pattern}`, got the string \"{does_not}\""
            ))
        );
    }
    let error = raw("t", with("(")).unwrap_err().to_string();
    assert!(error.starts_with("the schema is invalid at `"), "{error}");
    let run = Run::builder(batch(&[("a", "other")])).tool(ScriptedTool::new("other")).build();
    assert_eq!(story(finish(run.prompt("go")).transcript())[2], "result a: ok");
}
