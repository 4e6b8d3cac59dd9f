/** The providers of the AI SDK: what the names of their models start with, and the provider of the catalog. The first row that fits counts. */

/** A provider of the AI SDK. */
export interface ProviderRow {
  /** The start of `model.provider`. */
  starts: string;
  /** The provider of the catalog, with its surface where there are several; empty where the id of a model begins with it. */
  provider: string;
  /** The provider option that turns strict output off, as its two keys: some packages send `strict: true` unless told otherwise. */
  strictOption?: readonly [string, string];
}

/** The packages for Google convert schemas to OpenAPI 3.0 and drop what that lacks, so schemas are fitted for it. */
export const PROVIDERS: readonly ProviderRow[] = [
  { starts: "openai.responses", provider: "openai:responses", strictOption: ["openai", "strictJsonSchema"] },
  { starts: "openai", provider: "openai:chat", strictOption: ["openai", "strictJsonSchema"] },
  { starts: "azure.responses", provider: "azure:responses", strictOption: ["openai", "strictJsonSchema"] },
  { starts: "azure", provider: "azure:chat", strictOption: ["openai", "strictJsonSchema"] },
  { starts: "anthropic", provider: "anthropic" },
  { starts: "google.vertex.anthropic", provider: "vertex:messages" },
  { starts: "vertex.anthropic", provider: "vertex:messages" },
  { starts: "google.vertex", provider: "vertex:openapi" },
  { starts: "google", provider: "google:openapi" },
  { starts: "amazon-bedrock", provider: "bedrock" },
  { starts: "bedrock", provider: "bedrock" },
  { starts: "mistral", provider: "mistral" },
  { starts: "groq", provider: "groq", strictOption: ["groq", "strictJsonSchema"] },
  { starts: "xai", provider: "xai" },
  { starts: "deepseek", provider: "deepseek" },
  { starts: "cerebras", provider: "cerebras" },
  { starts: "fireworks", provider: "fireworks" },
  { starts: "togetherai", provider: "together" },
  { starts: "moonshotai", provider: "moonshot" },
  { starts: "openrouter", provider: "openrouter" },
  { starts: "ollama", provider: "ollama" },
  { starts: "vllm", provider: "vllm" },
  { starts: "lmstudio", provider: "lmstudio" },
  { starts: "gateway", provider: "" },
];
