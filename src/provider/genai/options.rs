//! What a request asks for beside its messages, in genai's words.

use std::sync::Arc;

use genai::adapter::AdapterKind;
use genai::chat::{CacheControl, ChatOptions, ReasoningEffort, ToolChoice};
use genai::{Headers, ServiceTarget};
use serde_json::{Map, Value};

use super::Settings;
use super::frames::Frames;
use super::protocol::Protocol;
use super::request::name_reads_as_effort;
use crate::message::ThinkingLevel;
use crate::model::{CacheRetention, Request, RequestOptions, ThinkingBudgets};
use crate::provider::transport::HttpHeaders;
use crate::provider::{add_headers, sampling_params};

pub(super) fn chat_options(
    request: &Request,
    settings: &Settings,
    target: &ServiceTarget,
    protocol: Protocol,
    frames: Arc<Frames>,
) -> ChatOptions {
    let asked = &*request.options;
    let mut options = settings.chat_options.clone();
    options.capture_usage = Some(true);
    options.capture_tool_calls = Some(true);
    // The texts are taken as they stream.
    options.capture_content = Some(false);
    // It also asks some providers for summaries, which models that do not think refuse.
    options.capture_reasoning_content = Some(request.thinking_level.is_some());
    options.raw_frame_sink = Some(frames);
    options.temperature = asked.temperature.or(options.temperature);
    let max_tokens = asked.max_tokens.map(|tokens| u32::try_from(tokens).unwrap_or(u32::MAX));
    options.max_tokens = max_tokens.or(options.max_tokens);
    let effort = request.thinking_level.and_then(|level| effort(level, asked, settings, target, protocol));
    options.reasoning_effort = effort.or(options.reasoning_effort);
    if options.reasoning_effort.is_none() && name_reads_as_effort(&target.model, protocol) {
        options.reasoning_effort = Some(ReasoningEffort::Budget(0));
    }
    options.extra_headers = Some(headers(request, settings, options.extra_headers.take()));
    set_cache(&mut options, asked, target);
    let mut body = Map::new();
    if let Some(Value::Object(fields)) = options.extra_body.take() {
        body.extend(fields);
    }
    body.extend(fields(&mut options, asked, protocol));
    body.extend(settings.extra_body.clone());
    options.extra_body =
        Some(Value::Object(body)).filter(|body| body.as_object().is_some_and(|b| !b.is_empty()));
    options
}

/// The effort for a level, or the tokens that the host counts for it where the provider counts them.
pub(super) fn effort(
    level: ThinkingLevel,
    options: &RequestOptions,
    settings: &Settings,
    target: &ServiceTarget,
    protocol: Protocol,
) -> Option<ReasoningEffort> {
    let name = target.model.model_name.as_str();
    let counts_tokens = match protocol {
        Protocol::Anthropic | Protocol::Bedrock => true,
        // The newer ones have levels, and genai sends them no budgets.
        Protocol::Gemini => !name.contains("gemini-3") && !name.contains("gemma-4"),
        _ => false,
    };
    let budget = options.thinking_budgets.as_ref().and_then(|budgets| budget(level, budgets));
    match budget.filter(|_| counts_tokens) {
        Some(tokens) => Some(ReasoningEffort::Budget(u32::try_from(tokens).unwrap_or(u32::MAX))),
        None => match (settings.effort)(level)? {
            // OpenAI's own highest is this.
            ReasoningEffort::Max if matches!(protocol, Protocol::OpenAi | Protocol::Responses) => {
                Some(ReasoningEffort::XHigh)
            }
            effort => Some(effort),
        },
    }
}

pub(super) fn usual_effort(level: ThinkingLevel) -> Option<ReasoningEffort> {
    match level {
        ThinkingLevel::Off => None,
        ThinkingLevel::Minimal => Some(ReasoningEffort::Minimal),
        ThinkingLevel::Low => Some(ReasoningEffort::Low),
        ThinkingLevel::Medium => Some(ReasoningEffort::Medium),
        ThinkingLevel::High => Some(ReasoningEffort::High),
        ThinkingLevel::Xhigh => Some(ReasoningEffort::XHigh),
        ThinkingLevel::Max => Some(ReasoningEffort::Max),
    }
}

fn budget(level: ThinkingLevel, budgets: &ThinkingBudgets) -> Option<u64> {
    match level {
        ThinkingLevel::Off => None,
        ThinkingLevel::Minimal => budgets.minimal,
        ThinkingLevel::Low => budgets.low,
        ThinkingLevel::Medium => budgets.medium,
        ThinkingLevel::High => budgets.high,
        ThinkingLevel::Xhigh => budgets.xhigh,
        ThinkingLevel::Max => budgets.max,
    }
}

/// The headers, each name once: genai would send two that differ in their capitals.
fn headers(request: &Request, settings: &Settings, of_host: Option<Headers>) -> Headers {
    let mut headers = HttpHeaders::new();
    for (name, value) in of_host.iter().flatten() {
        headers.set(name, value);
    }
    add_headers(&request.options, &settings.headers, &mut headers);
    let headers = headers.iter().map(|(name, value)| (as_genai_writes(name), value.to_owned()));
    Headers::from(headers.collect::<Vec<_>>())
}

/// The name of a header that genai itself sets, so that the host's goes over it.
fn as_genai_writes(name: &str) -> String {
    let known = ["Authorization", "x-api-key", "x-goog-api-key", "anthropic-version"];
    let known = known.iter().find(|known| known.eq_ignore_ascii_case(name));
    known.map_or_else(|| name.to_owned(), |known| (*known).to_owned())
}

/// Anthropic's cache is marked in the messages; OpenAI's is told of here. Servers that only speak as OpenAI does may
/// refuse the fields.
fn set_cache(options: &mut ChatOptions, asked: &RequestOptions, target: &ServiceTarget) {
    let is_openai = matches!(target.model.adapter_kind, AdapterKind::OpenAI | AdapterKind::OpenAIResp)
        && target.endpoint.base_url().starts_with("https://api.openai.com/");
    if !is_openai || asked.cache_retention == Some(CacheRetention::None) {
        return;
    }
    if asked.session_id.is_some() {
        options.prompt_cache_key.clone_from(&asked.session_id);
    }
    if asked.cache_retention == Some(CacheRetention::Long) {
        options.cache_control = Some(CacheControl::Ephemeral24h);
    }
}

/// The fields that genai has no option for. Those that it has one for are set there, so that each protocol gets them by
/// its own name and in its own place.
fn fields(options: &mut ChatOptions, asked: &RequestOptions, protocol: Protocol) -> Map<String, Value> {
    let mut fields = Map::new();
    let takes_metadata = matches!(protocol, Protocol::OpenAi | Protocol::Responses | Protocol::Anthropic);
    if let Some(metadata) = asked.metadata.clone().filter(|_| takes_metadata) {
        fields.insert("metadata".to_owned(), metadata.into());
    }
    if let Some(choice) = &asked.tool_choice {
        match tool_choice(choice) {
            Some(choice) => options.tool_choice = Some(choice),
            None => drop(fields.insert("tool_choice".to_owned(), choice.clone())),
        }
    }
    for (name, value) in sampling_params(asked) {
        match (name, value) {
            ("top_p" | "topP", value) if value.is_number() => options.top_p = value.as_f64(),
            ("seed", value) if value.is_u64() => options.seed = value.as_u64(),
            ("stop" | "stop_sequences" | "stopSequences", value) if stop_sequences(value).is_some() => {
                options.stop_sequences = stop_sequences(value).unwrap_or_default();
            }
            (name, value) => drop(fields.insert(name.to_owned(), value.clone())),
        }
    }
    fields
}

fn stop_sequences(value: &Value) -> Option<Vec<String>> {
    match value {
        Value::String(one) => Some(vec![one.clone()]),
        Value::Array(all) => all.iter().map(|one| one.as_str().map(str::to_owned)).collect(),
        _ => None,
    }
}

/// The providers' ways to say which tool is to be called; `None` for one that is not known, or says more than that.
fn tool_choice(choice: &Value) -> Option<ToolChoice> {
    let known = ["type", "name", "function"];
    if choice.as_object().is_some_and(|choice| choice.keys().any(|key| !known.contains(&key.as_str()))) {
        return None;
    }
    let word = choice.as_str().or_else(|| choice.get("type")?.as_str())?;
    match word.to_ascii_lowercase().as_str() {
        "auto" => Some(ToolChoice::Auto),
        "none" => Some(ToolChoice::None),
        "any" | "required" => Some(ToolChoice::Required),
        "tool" | "function" => {
            let name = choice.get("name").or_else(|| choice.get("function")?.get("name"))?;
            Some(ToolChoice::tool(name.as_str()?))
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn each_providers_way_to_choose_a_tool_is_understood() {
        for (choice, expected) in [
            (json!("auto"), Some(ToolChoice::Auto)),
            (json!({"type": "auto"}), Some(ToolChoice::Auto)),
            (json!("NONE"), Some(ToolChoice::None)),
            (json!("required"), Some(ToolChoice::Required)),
            (json!({"type": "any"}), Some(ToolChoice::Required)),
            (json!({"type": "tool", "name": "t"}), Some(ToolChoice::tool("t"))),
            (json!({"type": "function", "function": {"name": "t"}}), Some(ToolChoice::tool("t"))),
            (json!({"type": "function", "name": "t"}), Some(ToolChoice::tool("t"))),
            (json!({"type": "tool"}), None),
            (json!({"type": "auto", "disable_parallel_tool_use": true}), None),
            (json!({"type": "allowed_tools"}), None),
            (json!(1), None),
        ] {
            assert_eq!(tool_choice(&choice), expected, "{choice}");
        }
    }
}
