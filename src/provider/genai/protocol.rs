//! Which wire protocol genai speaks for a model, and what of it matters here.

use genai::ModelIden;
use genai::adapter::AdapterKind;

use crate::model::Model;
use crate::provider::repair::{CallIds, Rules, SystemMessages};

/// The wire protocols of genai's adapters. Those that differ in nothing that matters here are one.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Protocol {
    /// OpenAI's chat completions, and all that follow them.
    OpenAi,
    /// OpenAI's Responses.
    Responses,
    /// Anthropic's messages.
    Anthropic,
    /// Gemini's `streamGenerateContent`.
    Gemini,
    /// Gemini's interactions.
    Interactions,
    /// Ollama's own.
    Ollama,
    /// Bedrock's Converse.
    Bedrock,
    /// Cohere's own, in which genai has no tools.
    Cohere,
}

impl Protocol {
    pub(super) fn of(model: &ModelIden) -> Self {
        let (namespace, name) = model.model_name.namespace_and_name();
        match model.adapter_kind {
            AdapterKind::OpenAIResp => Self::Responses,
            AdapterKind::Anthropic | AdapterKind::MiniMax => Self::Anthropic,
            AdapterKind::Vertex if name.starts_with("claude") => Self::Anthropic,
            AdapterKind::Gemini | AdapterKind::Vertex => Self::Gemini,
            AdapterKind::GeminiIx => Self::Interactions,
            AdapterKind::Ollama | AdapterKind::OllamaCloud => Self::Ollama,
            AdapterKind::BedrockApi => Self::Bedrock,
            AdapterKind::Cohere => Self::Cohere,
            AdapterKind::OpenCodeGo if name.to_lowercase().starts_with("minimax-") => Self::Anthropic,
            AdapterKind::Baidu if namespace.is_some_and(|namespace| namespace.contains("anthropic")) => {
                Self::Anthropic
            }
            // The feature that brings Bedrock's other adapter can only be turned on elsewhere in the program.
            other if other.as_lower_str() == "bedrock_sigv4" => Self::Bedrock,
            _ => Self::OpenAi,
        }
    }

    /// What the provider takes, where the host does not say it.
    pub(super) fn rules(self, kind: AdapterKind) -> Rules {
        let plain = CallIds::Plain { longest: 64 };
        let call_ids = match self {
            _ if kind == AdapterKind::Mistral => CallIds::Nine,
            Self::Responses | Self::Anthropic | Self::Bedrock => plain,
            // Gemini has ids that genai makes up, and knows by their form.
            Self::OpenAi | Self::Gemini | Self::Interactions | Self::Ollama | Self::Cohere => CallIds::Any,
        };
        let system_messages = match self {
            Self::OpenAi | Self::Responses | Self::Ollama => SystemMessages::InPlace,
            // genai joins all system messages at the front of these, which would spoil the cache with each new one.
            Self::Anthropic | Self::Gemini | Self::Interactions | Self::Bedrock | Self::Cohere => {
                SystemMessages::LaterAsUser
            }
        };
        Rules { images: None, call_ids, system_messages }
    }

    /// Whether the frames tell where a block begins and ends.
    pub(super) fn has_borders(self) -> bool {
        matches!(self, Self::Anthropic | Self::Bedrock)
    }

    /// Whether genai puts a path in front of the query of a base URL. The others join path and URL as they are.
    pub(super) fn keeps_query(self, kind: AdapterKind) -> bool {
        let joins = matches!(kind, AdapterKind::Zai | AdapterKind::OpenCodeGo);
        matches!(self, Self::OpenAi | Self::Responses | Self::Interactions) && !joins
    }

    /// Whether the name's ending would be read by genai as a wish for effort, and may be kept by a budget, which these
    /// protocols do not send.
    pub(super) fn reads_effort_from_names(self) -> bool {
        matches!(self, Self::OpenAi | Self::Responses)
    }
}

/// The adapter for a model that the host chose none for.
///
/// A namespace in the id (`groq::…`) is genai's own way to say it. Otherwise the model's `api` says it, then its
/// `provider`, then its name.
pub(super) fn kind_of(model: &Model) -> AdapterKind {
    // genai never fails here, it falls back to Ollama.
    let by_name = || AdapterKind::from_model(&model.id).unwrap_or(AdapterKind::Ollama);
    if model.id.contains("::") {
        return by_name();
    }
    if let Some(kind) = kind_named(&model.api) {
        return kind;
    }
    match model.provider.as_str() {
        // OpenAI has two protocols; the name decides between them.
        "openai" => match by_name() {
            AdapterKind::OpenAIResp => AdapterKind::OpenAIResp,
            _ => AdapterKind::OpenAI,
        },
        provider => kind_named(provider).unwrap_or_else(by_name),
    }
}

/// The adapter by genai's names, and by those of the pi-ai catalogue.
fn kind_named(name: &str) -> Option<AdapterKind> {
    Some(match name {
        "openai-completions" => AdapterKind::OpenAI,
        "openai-responses" => AdapterKind::OpenAIResp,
        "anthropic-messages" => AdapterKind::Anthropic,
        "google-generative-ai" | "google" => AdapterKind::Gemini,
        "google-vertex" => AdapterKind::Vertex,
        "bedrock-converse-stream" | "amazon-bedrock" => AdapterKind::BedrockApi,
        "openrouter" => AdapterKind::OpenRouter,
        "github-copilot" => AdapterKind::GithubCopilot,
        name => AdapterKind::from_lower_str(name)?,
    })
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_namespace_then_the_api_then_the_provider_then_the_name_decide() {
        for (provider, api, id, kind) in [
            ("anthropic", "openai-completions", "groq::llama", AdapterKind::Groq),
            ("anthropic", "openai-completions", "claude-x", AdapterKind::OpenAI),
            ("anthropic", "", "gpt-4o", AdapterKind::Anthropic),
            ("openai", "", "gpt-4o", AdapterKind::OpenAI),
            ("openai", "", "gpt-5", AdapterKind::OpenAIResp),
            ("openai", "", "my-model", AdapterKind::OpenAI),
            ("openrouter", "", "anthropic/claude-x", AdapterKind::OpenRouter),
            ("mine", "own", "claude-x", AdapterKind::Anthropic),
            ("", "", "smollm2", AdapterKind::Ollama),
        ] {
            let model = Model::new(provider, id).with_api(api);
            assert_eq!(kind_of(&model), kind, "{provider} {api} {id}");
        }
    }

    #[test]
    fn providers_with_two_protocols_choose_by_the_model() {
        for (kind, name, protocol) in [
            (AdapterKind::Vertex, "claude-x", Protocol::Anthropic),
            (AdapterKind::Vertex, "gemini-x", Protocol::Gemini),
            (AdapterKind::OpenCodeGo, "MiniMax-M2", Protocol::Anthropic),
            (AdapterKind::OpenCodeGo, "glm", Protocol::OpenAi),
            (AdapterKind::Mistral, "mistral-large", Protocol::OpenAi),
        ] {
            assert_eq!(Protocol::of(&ModelIden::new(kind, name)), protocol, "{name}");
        }
    }
}
