/** Reads and writes request fields that several styles have in the same form. */
import type { JsonObject } from "../../lib/json/json.ts";
import type {
  Conversation,
  Effort,
  OutputFormat,
  ReasoningRequest,
  Sampling,
} from "../conversation/mod.ts";
import type { Style } from "../contract/contract.ts";
import type { ResolvedCapabilities } from "../contract/capabilities.ts";
import { samplingPath } from "./field_table.ts";
import { maxChoices } from "../contract/limits.ts";
import { invalid, oneOf, optionalCount, optionalNumber, optionalString, refuse } from "./fields.ts";
import type { Warnings } from "../contract/warnings.ts";
import { knownTier, warnOfTier } from "../content/citations.ts";
import { hashHex } from "../../lib/hash/short_hash.ts";
import { defined } from "../../lib/base/defined.ts";

/** Longest name of an end user that Chat and Responses vendors take. */
const endUserChars = 64;

/** Chat and Responses: the names of the field for the end user, the newer one first. */
const endUserFields = ["safety_identifier", "user"] as const;

/** Reads `temperature` and `top_p`, which are the same in every style. */
export function readTemperatureAndTopP(
  body: JsonObject,
): Pick<Sampling, "temperature" | "topP"> {
  const temperature = optionalNumber(body, "temperature", "temperature");
  const topP = optionalNumber(body, "top_p", "top_p");
  return {
    ...defined({ temperature, topP }),
  };
}

/** Chat and Responses: writes `temperature` and `top_p` as far as the model takes them. */
export function writeTemperatureAndTopP(
  { from, temperature, topP }: {
    readonly from: Style;
    readonly temperature: number | undefined;
    readonly topP: number | undefined;
  },
  capabilities: ResolvedCapabilities,
  warnings: Warnings,
  body: JsonObject,
): void {
  const fixed = capabilities.sampling === "fixed";
  if (temperature !== undefined) {
    if (!fixed) body.temperature = temperature;
    else if (temperature !== 1) warnings.add(samplingPath({ from }, "temperature"));
  }
  if (topP !== undefined) {
    const excluded = capabilities.temp_top_p_exclusive && temperature !== undefined;
    if (!fixed && !excluded) body.top_p = topP;
    else if (topP !== 1) warnings.add(samplingPath({ from }, "top_p"));
  }
}

const efforts = [
  "none",
  "minimal",
  "low",
  "medium",
  "high",
  "xhigh",
  "max",
] as const satisfies readonly Effort[];

/**
 * Chat and Responses: reads a level of effort. `default`, as at Groq, leaves the level to the model, like an absent
 * field.
 */
export function readEffort(word: string | undefined, path: string): Effort | undefined {
  return word === undefined || word === "default" ? undefined : oneOf(word, efforts, path);
}

/** Reads how to show the thinking: the member `key` of the field at `path`, as an object to spread. */
export function readDisplay(
  from: JsonObject,
  key: string,
  path: string,
): Pick<ReasoningRequest, "display"> {
  const word = optionalString(from, key, `${path}.${key}`);
  return word === undefined ? {} : { display: { word, path: `${path}.${key}` } };
}

/**
 * Chat and Responses: reads the requested format of the answer by its `type`; `readSchema` finds the style's schema.
 *
 * @throws {GatewayError} `invalid_request` naming a type that neither style has
 */
export function readOutputFormat(
  format: JsonObject | undefined,
  path: string,
  readSchema: (format: JsonObject) => OutputFormat,
): OutputFormat | undefined {
  switch (format?.type) {
    case undefined:
    case "text":
      return undefined;
    case "json_object":
      return { type: "json_object", path };
    case "json_schema":
      return readSchema(format);
    default:
      return invalid(`${path}.type`, "must be one of text, json_object, json_schema");
  }
}

/** Chat and Responses: reads the client's own end user. */
export function readEndUser(body: JsonObject): Pick<Conversation, "endUser"> {
  for (const path of endUserFields) {
    const id = optionalString(body, path, path);
    if (id !== undefined) return { endUser: { id, path } };
  }
  return {};
}

/** Chat and Responses: reads the service tier. An empty string asks for nothing. */
export function readServiceTier(body: JsonObject): Pick<Conversation, "serviceTier"> {
  const path = "service_tier";
  const tier = optionalString(body, path, path) ?? "";
  return tier === "" ? {} : { serviceTier: { tier, path } };
}

/** Chat and Responses: writes end user and service tier if the route takes the fields. */
export function writeEndUserAndTier(
  { from, endUser, serviceTier }: Pick<Conversation, "from" | "endUser" | "serviceTier">,
  capabilities: ResolvedCapabilities,
  warnings: Warnings,
  body: JsonObject,
): void {
  // The end users of Chat and Responses clients are among the extras, each under its own name.
  if (from === "messages" && endUser !== undefined) {
    const field = endUserFields.find((name) => capabilities.extra_fields.includes(name));
    if (field !== undefined) body[field] = endUser.id;
  }
  shortenIdentifier(body);
  const field = "service_tier";
  if (serviceTier === undefined) return;
  const isShared = from !== "messages" && from !== "gemini" &&
    capabilities.shared_fields.includes(field);
  const takes = isShared || capabilities.extra_fields.includes(field);
  const tier = takes ? knownTier(serviceTier.tier) : undefined;
  if (tier === undefined) warnOfTier(serviceTier, warnings);
  else body[field] = tier;
}

/** The field of a Chat request that says in which forms the model answers. */
const modalities = "modalities";

/**
 * Writes the request for pictures in the answer if the route takes the Chat field.
 *
 * @throws {GatewayError} `conversion_refused` if it does not: clients that ask for pictures rely on them
 */
export function writePictures(
  { pictures }: Pick<Conversation, "pictures">,
  capabilities: ResolvedCapabilities,
  body: JsonObject,
): void {
  if (pictures === undefined) return;
  if (!capabilities.extra_fields.includes(modalities)) refusePictures({ pictures });
  body[modalities] = ["text", "image"];
}

/**
 * Refuses the request for pictures in the answer, for styles that have no field for it.
 *
 * @throws {GatewayError} `conversion_refused` naming the field
 */
export function refusePictures({ pictures }: Pick<Conversation, "pictures">): void {
  if (pictures !== undefined) refuse(pictures.path, "this model answers in text only");
}

/** Reads how many answers the client asks for; nothing if that is one. */
export function readChoices(
  holder: JsonObject,
  field: string,
  path: string,
): Pick<Conversation, "choices"> {
  const count = optionalCount(holder, field, path, 1) ?? 1;
  if (count > maxChoices) invalid(path, `must be at most ${maxChoices}`);
  return count === 1 ? {} : { choices: { count, path } };
}

/**
 * Writes how many answers the client asks for, if the route gives several and as many.
 *
 * @throws {GatewayError} `conversion_refused` if it does not
 */
export function writeChoices(
  { choices }: Pick<Conversation, "choices">,
  { choices: gives }: Pick<ResolvedCapabilities, "choices">,
  most: number,
  write: (count: number) => void,
): void {
  if (choices === undefined) return;
  if (!gives) refuseChoices({ choices });
  if (choices.count > most) {
    refuse(choices.path, `this model gives at most ${most} answers per call`);
  }
  write(choices.count);
}

/**
 * Refuses several answers, for styles that have no field for them.
 *
 * @throws {GatewayError} `conversion_refused` naming the field
 */
export function refuseChoices({ choices }: Pick<Conversation, "choices">): void {
  if (choices !== undefined) refuse(choices.path, "this model gives one answer per call");
}

/** Shortens the long ids that agents send as end users. */
function shortenIdentifier(body: JsonObject): void {
  for (const field of endUserFields) {
    const id = body[field];
    if (typeof id === "string" && id.length > endUserChars) body[field] = hashHex(id);
  }
}

/**
 * Chat and Responses: writes the request for log probabilities; `write` writes it in the style's own members.
 *
 * @throws {GatewayError} `conversion_refused` if the route has none: clients that ask for them rely on them
 */
export function writeLogprobs(
  { logprobs }: Pick<Conversation, "logprobs">,
  capabilities: ResolvedCapabilities,
  write: (top: number | undefined) => void,
): void {
  if (logprobs === undefined) return;
  if (!capabilities.shared_fields.includes("logprobs")) {
    refuse(logprobs.path, "this model gives no log probabilities");
  }
  write(logprobs.top);
}
