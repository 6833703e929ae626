/**
 * The form of requests at clouds: the path, which names the model, and what else changes of a style's body.
 *
 * - Folder `core/clouds/`: what differs at clouds from vendors' own endpoints: the form of requests, of errors and of
 *   streams, and credentials.
 * - In: a request in the plain form of its style, and `cloud` and `auth` of its provider.
 * - Out: the cloud's form of it; answers in the plain form of the style again.
 * - Never: converts between styles, or chooses routes.
 */
import type { Cloud } from "../catalog/entries/cloud_schema.ts";
import type { RouteStyle } from "../catalog/entries/model.ts";
import type { JsonObject } from "../lib/json/json.ts";

/** Facts of a call that its path depends on. */
export interface CloudCall {
  readonly style: RouteStyle;
  /** The provider's name of the model: at Azure, of a deployment. */
  readonly model: string;
  readonly stream: boolean;
  /** Rest of the path after that of the style, e.g. `/count_tokens`. */
  readonly subpath: string;
}

/** The subpath by which tokens are counted. */
export const countTokensPath = "/count_tokens";

/** The end of the path by which tokens are counted in the Gemini style. */
export const geminiCountPath = ":countTokens";

/** The versions of the Messages style that the clouds speak. */
const messagesVersions = { vertex: "vertex-2023-10-16", bedrock: "bedrock-2023-05-31" } as const;

/** Whether requests of a style go to an endpoint that takes the Messages style without model and version. */
function isHostedMessages(
  cloud: Cloud,
  style: RouteStyle,
): cloud is Exclude<Cloud, { name: "azure" }> {
  return style === "messages" && cloud.name !== "azure";
}

function azurePath({ apiVersion }: Extract<Cloud, { name: "azure" }>, call: CloudCall) {
  const deployment = `/openai/deployments/${encodeURIComponent(call.model)}`;
  const query = `?api-version=${apiVersion}`;
  switch (call.style) {
    case "chat":
      return `${deployment}/chat/completions${query}`;
    case "images":
      return `${deployment}/images${call.subpath}${query}`;
    case "speech":
      return `${deployment}/audio/speech${query}`;
    case "transcriptions":
      return `${deployment}/audio${call.subpath}${query}`;
    case "embeddings":
      return `${deployment}/embeddings${query}`;
    case "responses":
      // The body names the deployment.
      return `/openai/responses${query}`;
    case "messages":
      return `/anthropic/v1/messages${call.subpath}`;
    default:
      return undefined;
  }
}

/** The path of a model that a publisher offers at Vertex AI. */
function publisherPath(
  { project, location }: Extract<Cloud, { name: "vertex" }>,
  publisher: string,
  model: string,
) {
  return `/v1/projects/${project}/locations/${location}/publishers/${publisher}/models/` +
    encodeURIComponent(model);
}

function vertexPath(cloud: Extract<Cloud, { name: "vertex" }>, call: CloudCall) {
  switch (call.style) {
    case "messages":
      if (call.subpath === countTokensPath) {
        return `${publisherPath(cloud, "anthropic", "count-tokens")}:rawPredict`;
      }
      return `${publisherPath(cloud, "anthropic", call.model)}:${
        call.stream ? "streamRawPredict" : "rawPredict"
      }`;
    case "chat":
      return `/v1/projects/${cloud.project}/locations/${cloud.location}/endpoints/openapi/chat/completions`;
    case "gemini":
      return publisherPath(cloud, "google", call.model) +
        (call.subpath === geminiCountPath
          ? geminiCountPath
          : `:${call.stream ? "streamGenerateContent?alt=sse" : "generateContent"}`);
    default:
      return undefined;
  }
}

function bedrockPath(call: CloudCall) {
  const model = `/model/${encodeURIComponent(call.model)}`;
  switch (call.style) {
    case "messages":
      if (call.subpath === countTokensPath) return `${model}/count-tokens`;
      return `${model}/${call.stream ? "invoke-with-response-stream" : "invoke"}`;
    case "converse":
      if (call.subpath === countTokensPath) return `${model}/count-tokens`;
      return `${model}/${call.stream ? "converse-stream" : "converse"}`;
    case "chat":
      return "/openai/v1/chat/completions";
    default:
      return undefined;
  }
}

/** Returns path and query of a request at a cloud; `undefined` if the cloud has no form of its own for the style. */
export function cloudPath(cloud: Cloud, call: CloudCall): string | undefined {
  switch (cloud.name) {
    case "azure":
      return azurePath(cloud, call);
    case "vertex":
      return vertexPath(cloud, call);
    case "bedrock":
      return bedrockPath(call);
  }
}

/** Whether the version and betas of the Messages style are in the body, not in headers. */
export function hasVersionInBody(cloud: Cloud | undefined, style: RouteStyle): boolean {
  return cloud !== undefined && isHostedMessages(cloud, style);
}

/** Changes of a cloud to a body. */
export interface CloudBodyChanges {
  readonly removed: readonly string[];
  readonly added: JsonObject;
}

/**
 * Returns what changes in the body of a request; `undefined`: nothing.
 *
 * @param betas the values of `anthropic-beta` for the provider, separated by commas
 */
export function cloudBodyChanges(
  cloud: Cloud | undefined,
  style: RouteStyle,
  betas: string | undefined,
): CloudBodyChanges | undefined {
  if (cloud === undefined || !isHostedMessages(cloud, style)) return undefined;
  const values = betas?.split(",").map((beta) => beta.trim()).filter((beta) => beta !== "") ?? [];
  const added = {
    anthropic_version: messagesVersions[cloud.name],
    ...(values.length > 0 ? { anthropic_beta: values } : {}),
  };
  // Bedrock refuses fields that it does not know; its path says whether the answer is a stream.
  return { removed: cloud.name === "bedrock" ? ["model", "stream"] : ["model"], added };
}
