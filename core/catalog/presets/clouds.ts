/** Clouds, by their own forms of requests. */
import type { FilledPlaces, Preset } from "./preset.ts";

/** Pictures and documents by URL are fetched only at the vendor's own endpoint. */
const hostedMessages = { images: "base64" } as const;

const bedrock = {
  title: "AWS Bedrock",
  baseUrl: "https://bedrock-runtime.{region}.amazonaws.com",
  places: ["region"],
  auth: ({ region = "" }: FilledPlaces) => ({ kind: "aws", region, service: "bedrock" }),
  cloud: () => ({ name: "bedrock" }),
  styles: ["messages", "converse", "chat"],
  facts: { messages: hostedMessages, chat: { shared_fields: [] } },
  source: "https://docs.aws.amazon.com/bedrock/latest/APIReference/API_runtime_InvokeModel.html",
  note: "The variable holds `ACCESS_KEY_ID:SECRET_ACCESS_KEY`.",
} as const satisfies Preset;

/** The clouds' presets by name. */
export const cloudPresets = {
  azure: {
    title: "Azure OpenAI, v1 path",
    baseUrl: "https://{resource}.openai.azure.com/openai",
    places: ["resource"],
    auth: "api-key",
    styles: ["chat", "responses"],
    source: "https://learn.microsoft.com/azure/ai-foundry/openai/api-version-lifecycle",
    note: "Routes name deployments.",
  },
  "azure-deployments": {
    title: "Azure OpenAI, deployments path",
    baseUrl: "https://{resource}.openai.azure.com",
    places: ["resource"],
    auth: "api-key",
    cloud: () => ({ name: "azure", apiVersion: "2024-10-21" }),
    styles: ["chat", "images", "speech", "embeddings", "transcriptions"],
    source: "https://learn.microsoft.com/azure/ai-foundry/openai/reference",
    note: "Routes name deployments; filter results come in chunks without choices.",
  },
  "azure-messages": {
    title: "Azure AI Foundry, Messages style",
    baseUrl: "https://{resource}.services.ai.azure.com/anthropic",
    places: ["resource"],
    auth: "api-key",
    styles: ["messages"],
    source:
      "https://learn.microsoft.com/azure/ai-foundry/foundry-models/how-to/use-foundry-models-claude",
  },
  vertex: {
    title: "Google Vertex AI",
    baseUrl: "https://{region}-aiplatform.googleapis.com",
    places: ["project", "region"],
    auth: { kind: "google", scope: "https://www.googleapis.com/auth/cloud-platform" },
    cloud: ({ project = "", region = "" }: FilledPlaces) => ({
      name: "vertex",
      project,
      location: region,
    }),
    styles: ["messages", "gemini", "chat"],
    facts: {
      messages: hostedMessages,
      chat: { shared_fields: [], reasoning_replay: "extra_content" },
      gemini: { mixed_tools: "plain" },
    },
    countTokens: true,
    source:
      "https://docs.cloud.google.com/vertex-ai/generative-ai/docs/partner-models/claude/use-claude",
    note: "The variable holds the JSON key of a service account.",
  },
  bedrock,
  "bedrock-key": {
    ...bedrock,
    title: "AWS Bedrock, API key",
    auth: "bearer",
    note: "With an API key of Bedrock.",
  },
} satisfies Readonly<Record<string, Preset>>;
