/**
 * Nothing that a client asks for is lost in silence: every member of a request changes what goes out, or is named, or
 * is refused, or stands in the short list of what may go in silence.
 */
import { assert, assertEquals } from "../../../support/assert.ts";
import type {
  ProviderStyle,
  RouteCapabilities,
  Style,
} from "../../../../core/wire/contract/contract.ts";
import { convertRequest } from "../../../../core/wire/convert/convert.ts";
import { chatRequest } from "../../../../sandbox/vendor_validators/openai/chat_schema.ts";
import { geminiRequest } from "../../../../sandbox/vendor_validators/google/gemini_schema.ts";
import { messagesRequest } from "../../../../sandbox/vendor_validators/anthropic/messages_schema.ts";
import { responsesRequest } from "../../../../sandbox/vendor_validators/openai/responses_schema.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../../core/lib/json/json.ts";
import { styles, targetStyles } from "../../../conformance/recordings.ts";
import { fetchedFor, routes } from "../../../conformance/routes.ts";
import { wholeRequests } from "./whole_requests.ts";
import { z } from "zod";

type Step = string | number;

/** Members that hold the client's own JSON: what is inside is data, not fields. */
const freeJson: ReadonlySet<string> = new Set([
  "parameters",
  "input_schema",
  "schema",
  "input",
  "input_examples",
  "logit_bias",
]);

function isFree(key: Step, value: Json): boolean {
  // A Responses request's `input` is its list of items; everywhere else the word means arguments.
  return typeof key === "string" && freeJson.has(key) && !(key === "input" && Array.isArray(value));
}

/** The path of every member of every object, `messages.0.content.1.text` as a list of steps. */
function fieldPaths(value: Json, path: readonly Step[] = []): Step[][] {
  if (Array.isArray(value)) {
    return value.flatMap((item, i) => fieldPaths(item, [...path, i]));
  }
  if (!isJsonObject(value)) return [];
  return Object.entries(value).flatMap(([key, member]) => {
    const here = [...path, key];
    if (member === undefined) return [];
    return [here, ...(isFree(key, member) ? [] : fieldPaths(member, here))];
  });
}

/** The path of every object that is not the client's own JSON, the request itself first. */
function objectPaths(value: Json, path: readonly Step[] = []): Step[][] {
  if (Array.isArray(value)) return value.flatMap((item, i) => objectPaths(item, [...path, i]));
  if (!isJsonObject(value)) return [];
  const inner = Object.entries(value).flatMap(([key, member]) =>
    member === undefined || isFree(key, member) ? [] : objectPaths(member, [...path, key])
  );
  return [[...path], ...inner];
}

/** A copy whose object or list at `path` went through `change`. */
function changedAt(
  value: JsonObject,
  path: readonly Step[],
  change: (object: JsonObject) => JsonObject,
): JsonObject {
  const copy: JsonObject = structuredClone(value);
  const [last, ...before] = path.toReversed();
  if (last === undefined) return change(copy);
  let holder: Json = copy;
  for (const step of before.toReversed()) holder = childOf(holder, step);
  const child = childOf(holder, last);
  if (!isJsonObject(child)) throw new Error(`no object at ${path.join(".")}`);
  if (Array.isArray(holder)) holder[Number(last)] = change(child);
  else if (isJsonObject(holder)) holder[last] = change(child);
  return copy;
}

function childOf(holder: Json, step: Step): Json {
  const child = Array.isArray(holder)
    ? holder[Number(step)]
    : isJsonObject(holder)
    ? holder[step]
    : undefined;
  if (child === undefined) throw new Error(`no place ${step}`);
  return child;
}

// The members that a strict schema knows, and those of a request, have one notation: `content[text].cache_control` is the
// mark of a text that stands in a `content`. Members that only tell what their object is are left out.

/** Members that tell what an object is, the stronger one first. */
const tellers = ["role", "type"] as const;

function isTeller(name: string): boolean {
  return tellers.some((teller) => teller === name);
}

function named(holder: string, kind: string, name: string): string {
  return `${holder}${kind === "" ? "" : `[${kind}]`}.${name}`;
}

/** The members of a schema; where an object may be of several kinds, one name for each, of which any will do. */
function fieldsOfSchema(schema: unknown, holder = ""): string[][] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) {
    return fieldsOfSchema(schema.unwrap(), holder);
  }
  if (schema instanceof z.ZodArray) return fieldsOfSchema(schema.element, holder);
  if (schema instanceof z.ZodUnion) {
    return schema.options.flatMap((option) => fieldsOfSchema(option, holder));
  }
  if (!(schema instanceof z.ZodObject)) return [];
  const { shape } = schema;
  const kinds = tellers.map((teller) => wordsOf(shape[teller])).find((words) => words.length > 0);
  return Object.entries(shape).filter(([name]) => !isTeller(name)).flatMap(([name, member]) => [
    (kinds ?? [""]).map((kind) => named(holder, kind, name)),
    ...fieldsOfSchema(member, name),
  ]);
}

function wordsOf(schema: unknown): string[] {
  if (schema instanceof z.ZodOptional || schema instanceof z.ZodNullable) {
    return wordsOf(schema.unwrap());
  }
  if (schema instanceof z.ZodLiteral) return [...schema.values].map(String);
  return schema instanceof z.ZodEnum ? schema.options.map(String) : [];
}

/** The members of a request. */
function fieldsOfRequest(value: Json, holder = ""): string[] {
  if (Array.isArray(value)) return value.flatMap((item) => fieldsOfRequest(item, holder));
  if (!isJsonObject(value)) return [];
  const kind = tellers.map((teller) => value[teller]).find((word) => typeof word === "string");
  return Object.entries(value).flatMap(([name, member]) =>
    member === undefined ? [] : [
      named(holder, typeof kind === "string" ? kind : "", name),
      ...fieldsOfRequest(member, name),
    ]
  );
}

/** What may be dropped without a warning, because no answer changes; docs/conversion.md lists it too. */
const silent: Readonly<Record<Style | "all", readonly RegExp[]>> = {
  all: [
    // Tell what an object is, or have one value only.
    /(^|\.)type$/,
    /\.prompt_cache_breakpoint\.mode$/,
    // Marks of other vendors have a lifetime of their own.
    /cache_control\.ttl$/,
    // Who pays what, and who the client's own user is: only where a route asks for it.
    /^(service_tier|user|safety_identifier|metadata|metadata\.user_id)$/,
  ],
  messages: [
    /^tools\.0\.(defer_loading|eager_input_streaming|input_examples|allowed_callers)$/,
    // A hosted tool has one name.
    /^tools\.1\.name$/,
    // Lists tools by their names; a server is on unless it says otherwise.
    /^tools\.0\.configs$/,
    /\.tool_configuration\.enabled$/,
    /\.source\.media_type$/,
    // Reasoning and its proofs go to their maker only; the sources of an earlier answer to nobody.
    /^messages\.2\.content\.0\.signature$/,
    /^(messages\.2\.content\.2|system\.0)\.citations\b/,
    // To think as much as it likes, or not at all, is what a model without a switch does anyway.
    /^thinking$/,
  ],
  chat: [
    /^messages\.\d+\.(name|annotations)\b/,
    /\.image_url\.detail$/,
    // Read where it stands: without it, the order tells which call is meant.
    /^messages\.\d+\.tool_call_id$/,
    // Says what the answer's stream holds, not what the provider is asked.
    /^stream_options\.include_usage$/,
    /^response_format\.json_schema\.(name|strict)$/,
    /^tools\.0\.function\.strict$/,
    /^thinking$/,
    // A call stands beside it.
    /^messages\.1\.content$/,
    // Models of this kind show what they think.
    /^reasoning\.summary$/,
  ],
  gemini: [
    // What a function returns, and notes of the client.
    /\.(response|responseJsonSchema|partMetadata)(\.|$)/,
    // Thoughts and their proofs go to their maker only.
    /^contents\.1\.parts\.(0|4\.thoughtSignature)/,
    // The order tells which call is meant.
    /\.functionResponse\.(id|name)$/,
    /\.(executableCode|codeExecutionResult)\./,
    /^serviceTier$/,
    // Users are the default, and instructions have no role.
    /^(systemInstruction|contents\.[02])\.role$/,
    // JSON within a text there.
    /\.functionCall\.args$/,
    // Models of other styles show what they think.
    /\.includeThoughts$/,
  ],
  responses: [
    /^input\.\d+\.(id|status)$/,
    /^input\.2\.(summary|content|encrypted_content)\b/,
    /^input\.3\.content\.0\.(annotations|logprobs)\b/,
    /\.detail$/,
    /^tools\.\d\.strict$/,
    /^text\.format\.(name|strict)$/,
    /^reasoning\.(summary|generate_summary)$/,
  ],
};

function isSilent(from: Style, path: string, capabilities: RouteCapabilities): boolean {
  // An answer through a tool asks for a call anyway.
  if (capabilities.structured === "tool" && path === "tool_choice") return true;
  return [...silent.all, ...silent[from]].some((pattern) => pattern.test(path));
}

function convert(
  from: Style,
  to: ProviderStyle,
  body: JsonObject,
  capabilities: RouteCapabilities,
) {
  return convertRequest(from, to, body, {
    capabilities,
    upstreamModel: "up",
    maxOutputTokens: 32_000,
    ...fetchedFor(to),
  });
}

/** Whether a warning or refusal of `name` speaks of the member at `path`. */
function speaksOf(name: string, path: string): boolean {
  return name === path || path.startsWith(`${name}.`) || name.startsWith(`${path}.`);
}

function without(body: JsonObject, path: readonly Step[]): JsonObject {
  const key = String(path.at(-1));
  return changedAt(body, path.slice(0, -1), ({ [key]: _, ...rest }) => rest);
}

/** The members of `body` that a conversion drops without a warning. */
function lostFields(
  from: Style,
  to: ProviderStyle,
  body: JsonObject,
  capabilities: RouteCapabilities,
): string[] {
  const whole = convert(from, to, body, capabilities);
  if (!whole.ok) return [];
  const { dropped } = whole.request;
  assert(!dropped.includes("more"), "too many warnings in one request to see what is missing");
  const sent = JSON.stringify(whole.request.body);
  return fieldPaths(body).flatMap((steps) => {
    const path = steps.join(".");
    if (isSilent(from, path, capabilities) || dropped.some((name) => speaksOf(name, path))) {
      return [];
    }
    const less = convert(from, to, without(body, steps), capabilities);
    return less.ok && JSON.stringify(less.request.body) === sent ? [path] : [];
  });
}

/** The objects of `body` where a member that nobody knows gets lost without a word. */
function deafObjects(from: Style, to: ProviderStyle, body: JsonObject): string[] {
  if (!convert(from, to, body, {}).ok) return [];
  return objectPaths(body).flatMap((steps) => {
    const path = [...steps, "made_up"].join(".");
    if (isSilent(from, steps.join("."), {}) || /\b(annotations|citations|logprobs)\b/.test(path)) {
      return [];
    }
    const asking = changedAt(body, steps, (object) => ({ ...object, made_up: {} }));
    const conversion = convert(from, to, asking, {});
    const named = conversion.ok ? conversion.request.dropped : [conversion.error.param ?? ""];
    // A field that goes over as it is, or as text, takes along whatever is in it.
    if (conversion.ok && /made_up\\?"/.test(JSON.stringify(conversion.request.body))) return [];
    return named.some((name) => speaksOf(name, path)) ? [] : [path];
  });
}

for (const from of styles) {
  for (const to of targetStyles(from)) {
    Deno.test(`every member of a ${from} request is carried to ${to}, named or refused`, () => {
      for (const capabilities of routes[to]) {
        for (const body of wholeRequests[from]) {
          assertEquals(lostFields(from, to, body, capabilities), [], JSON.stringify(capabilities));
        }
      }
    });

    Deno.test(`what nobody knows of a ${from} request is named on its way to ${to}`, () => {
      for (const body of wholeRequests[from]) {
        assertEquals(deafObjects(from, to, body), []);
      }
    });
  }
}

const schemas = {
  messages: messagesRequest,
  chat: chatRequest,
  responses: responsesRequest,
  gemini: geminiRequest,
};

for (const style of styles) {
  Deno.test(`the ${style} requests of these tests hold every member that the vendor knows`, () => {
    const held = new Set(wholeRequests[style].flatMap((body) => fieldsOfRequest(body)));
    const missing = fieldsOfSchema(schemas[style])
      .filter((names) => !names.some((name) => held.has(name)));
    assertEquals(missing, []);
  });
}
