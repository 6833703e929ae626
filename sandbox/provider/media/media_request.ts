/** Reads media requests of the sandbox: fields from JSON or a form, and the triggers in the text. */
import { joined } from "../../../core/lib/bytes/byte_parts.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import { isJsonObject, type Json } from "../../../core/lib/json/json.ts";
import { fieldsOfForm, fieldsOfJson, type MediaFields } from "../../../core/calls/body/fields.ts";
import { multipartBoundary, readForm } from "../../../core/calls/body/multipart.ts";
import type { UpstreamRequest } from "../../../core/net/transport/transport.ts";
import { jsonReply, type Reply } from "../base/reply.ts";
import { knownTriggers, SandboxRefusal } from "../base/request.ts";
import { triggerPattern, type Triggers } from "../base/triggers.ts";
import { troubleReply } from "../base/vendor_error.ts";

/** Triggers for media only; those of chat apply too. */
const mediaTriggers = [
  "moderation",
  "images",
  "video-fail",
  "video-stall",
  "video-expire",
  "video-slow",
  "video-megabytes",
] as const;
type MediaTrigger = typeof mediaTriggers[number];

export interface MediaTriggers {
  readonly common: Triggers;
  /** Each trigger of the text with its number, which is `undefined` if none was given. */
  readonly own: ReadonlyMap<MediaTrigger, number | undefined>;
}

/** Reads the triggers of a media request. @throws {SandboxRefusal} for one that does not exist */
export function readMediaTriggers(text: string): MediaTriggers {
  const own = new Map<MediaTrigger, number | undefined>();
  const rest = text.replace(triggerPattern, (whole, name: string, number: string | undefined) => {
    const known = mediaTriggers.find((trigger) => trigger === name);
    if (known === undefined) return whole;
    own.set(known, number === undefined ? undefined : Number(number));
    return "";
  });
  return { common: knownTriggers(rest).triggers, own };
}

/** Returns the error that a trigger requests in place of an answer: an error status, or a refusal by moderation. */
export function mediaTrouble(triggers: MediaTriggers): Reply | undefined {
  if (triggers.own.has("moderation")) {
    return jsonReply(400, {
      error: {
        type: "image_generation_user_error",
        code: "moderation_blocked",
        message: "Your request was blocked by our moderation system.",
        param: null,
      },
    }, {});
  }
  return troubleReply("chat", triggers.common);
}

/**
 * Reads the fields of a request.
 *
 * @throws {SandboxRefusal} for a body that is neither a JSON object nor a form
 */
export function mediaFields(request: UpstreamRequest): MediaFields {
  const body = joined(request.body ?? []);
  const contentType = request.headers.find(([name]) => name === "content-type")?.[1] ?? "";
  try {
    const boundary = multipartBoundary(contentType);
    if (boundary !== undefined) return fieldsOfForm(readForm(body, boundary));
    const value: Json = JSON.parse(new TextDecoder("utf-8", { fatal: true }).decode(body));
    if (isJsonObject(value)) return fieldsOfJson(value);
  } catch (error) {
    if (error instanceof GatewayError) throw new SandboxRefusal(error.message);
    if (!(error instanceof SyntaxError) && !(error instanceof TypeError)) throw error;
  }
  throw new SandboxRefusal("The body must be a JSON object or a form.");
}

/** Returns a required text field. @throws {SandboxRefusal} if it is missing or empty */
export function requiredText(fields: MediaFields, field: string): string {
  const value = optionalText(fields, field);
  if (value === undefined || value === "") throw new SandboxRefusal(`${field}: is required`);
  return value;
}

/** Returns a text field; numbers and booleans are converted to text. */
export function optionalText(fields: MediaFields, field: string): string | undefined {
  const [value] = fields.get(field) ?? [];
  if (value?.kind === "text") return value.text;
  if (value?.kind !== "json") return undefined;
  const { value: json } = value;
  if (typeof json === "string") return json;
  return typeof json === "number" || typeof json === "boolean" ? String(json) : undefined;
}
