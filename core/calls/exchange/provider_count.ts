/** Makes the request by which a provider counts the tokens of a prompt, in the style of its route. */
import type { Route } from "../../catalog/catalog.ts";
import type { ProviderEntry } from "../../catalog/schema.ts";
import { cloudBodyChanges, countTokensPath, geminiCountPath } from "../../clouds/request_form.ts";
import { type ByteParts, joined } from "../../lib/bytes/byte_parts.ts";
import type { JsonObject } from "../../lib/json/json.ts";
import { encodeBase64, stringifyExactly } from "../../lib/runtime/built_ins.ts";
import { convertRequest } from "../../wire/convert/convert.ts";
import { withoutForeignReasoning } from "../request/sealed_items.ts";
import { type JsonBody, parseJsonBody, withFields, withoutFields } from "../body/json_body.ts";

/** Makes the body with which a provider counts the tokens of a Messages request. */
function countTokensBody(
  body: JsonBody,
  provider: ProviderEntry,
  model: string,
): ByteParts {
  const cloud = provider.kind === "http" ? provider.cloud : undefined;
  const changes = cloudBodyChanges(cloud, "messages", undefined);
  if (cloud === undefined || changes === undefined) return withFields(body, { model });
  if (cloud.name !== "bedrock") {
    // The path at Vertex is the same for all models.
    return withFields(body, { model, ...changes.added });
  }
  // Bedrock takes the body of a call, which must have a bound on output.
  const call = withoutFields(body, changes.removed, {
    ...changes.added,
    ...(body.fields.has("max_tokens") ? {} : { max_tokens: 1 }),
  });
  const input = { input: { invokeModel: { body: encodeBase64(joined(call)) } } };
  return new TextEncoder().encode(JSON.stringify(input));
}

/** The styles of clients whose vendors count tokens. */
export type CountingStyle = "messages" | "gemini" | "responses";
/** The styles whose vendors count tokens. */
type CountedStyle = CountingStyle | "converse";

/** A request for a count. */
export interface CountRequest {
  /** Follows the style's path. */
  readonly subpath: string;
  readonly body: ByteParts;
  /** The member of the answer that holds the count. */
  readonly countedIn: "input_tokens" | "totalTokens";
}

/** Fields that are part of the prompt or change its form; a counter refuses others. */
const countedFields: Readonly<Record<CountedStyle, readonly string[]>> = {
  responses: ["input", "instructions", "tools", "tool_choice", "text", "reasoning"],
  messages: ["messages", "system", "tools", "tool_choice", "thinking"],
  gemini: ["contents", "systemInstruction", "tools", "toolConfig", "generationConfig"],
  converse: ["system", "messages", "toolConfig", "additionalModelRequestFields"],
};

/** Whether vendors of a style count tokens. */
function isCounted(style: Route["style"]): style is CountedStyle {
  return style in countedFields;
}

/** Follows the path of Responses calls. */
const responsesCountPath = "/input_tokens";

function counted(style: CountedStyle, body: JsonObject): JsonObject {
  return Object.fromEntries(
    countedFields[style].flatMap((name) => {
      const value = body[name];
      return value === undefined ? [] : [[name, value]];
    }),
  );
}

/**
 * Makes the request for a route that counts; `undefined` if the prompt cannot be carried to its style.
 *
 * @param from the client's style
 * @param body the client's request; of a Gemini client with the members of its path
 */
export function providerCountRequest(
  from: CountingStyle,
  body: JsonBody,
  route: Route,
  provider: ProviderEntry,
): CountRequest | undefined {
  const { style, upstreamModel } = route;
  if (from === "messages" && style === "messages") {
    return {
      subpath: countTokensPath,
      body: countTokensBody(body, provider, upstreamModel),
      countedIn: "input_tokens",
    };
  }
  if (!isCounted(style)) return undefined;
  const value = from === style
    ? { ...body.value, ...withoutForeignReasoning(from, body, route.capabilities) }
    : converted(from, style, body.value, route);
  if (value === undefined) return undefined;
  const prompt = counted(style, value);
  if (style === "messages") {
    const whole = parseJsonBody(encoded({ model: upstreamModel, ...prompt }));
    return {
      subpath: countTokensPath,
      body: countTokensBody(whole, provider, upstreamModel),
      countedIn: "input_tokens",
    };
  }
  if (style === "responses") {
    return {
      subpath: responsesCountPath,
      body: encoded({ model: upstreamModel, ...prompt }),
      countedIn: "input_tokens",
    };
  }
  if (style === "converse") {
    const sent = { input: { converse: prompt } };
    return { subpath: countTokensPath, body: encoded(sent), countedIn: "input_tokens" };
  }
  const isCloud = provider.kind === "http" && provider.cloud !== undefined;
  // The vendor's own endpoint takes only contents beside a whole request; its cloud takes the parts by themselves.
  const sent = isCloud
    ? prompt
    : { generateContentRequest: { model: `models/${upstreamModel}`, ...prompt } };
  return { subpath: geminiCountPath, body: encoded(sent), countedIn: "totalTokens" };
}

/** A bound on output that leaves room for any budget of thinking; it is not sent. */
const maxCountedOutputTokens = 128_000;

function converted(
  from: CountingStyle,
  to: CountedStyle,
  value: JsonObject,
  { capabilities, upstreamModel }: Route,
): JsonObject | undefined {
  // Requests that only count have no bound on output, which calls of the style must have.
  const body = from === "messages" ? { max_tokens: maxCountedOutputTokens, ...value } : value;
  const conversion = convertRequest(from, to, body, {
    capabilities,
    upstreamModel,
    maxOutputTokens: maxCountedOutputTokens,
  });
  if (!conversion.ok) return undefined;
  const { generationConfig: _bound, ...prompt } = conversion.request.body;
  return prompt;
}

function encoded(value: JsonObject): Uint8Array<ArrayBuffer> {
  return new TextEncoder().encode(stringifyExactly(value));
}
