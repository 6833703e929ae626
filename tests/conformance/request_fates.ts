/**
 * What becomes of a mutated request on its way to a provider: it is refused, or what changed is carried, named, or read
 * as the original was. Anything else is a fault: a loss without a word, or a request that the provider's vendor refuses.
 */
import { isJsonObject, type Json, type JsonObject } from "../../core/lib/json/json.ts";
import type { ProviderStyle, RouteCapabilities, Style } from "../../core/wire/contract/contract.ts";
import { validateRequest } from "../../sandbox/vendor_validators/validators.ts";
import { type Mutation, oddName, oddText } from "../support/mutations.ts";
import { sentRequest, sentValue } from "./sent_requests.ts";

/** A way from a client to a route. */
export interface Way {
  readonly from: Style;
  readonly to: ProviderStyle;
  readonly capabilities: RouteCapabilities;
}

/** What became of one mutation. */
export type RequestFate =
  | "refused"
  | "named"
  | "carried"
  | "read as before"
  /** It holds nothing that could be lost. */
  | "nothing to lose"
  | "excepted";

/** A fault, with what shows it. */
export interface RequestFault {
  readonly fault: "invalid" | "lost" | "crashed";
  readonly why: string;
}

/** What a request that nobody changed becomes on a way; the texts of mutated ones are compared with it. */
export interface OriginalRequest {
  readonly value: JsonObject;
  readonly text: string | undefined;
}

/** Sends the request as it is. */
export function original({ from, to, capabilities }: Way, value: JsonObject): OriginalRequest {
  const sending = sentRequest(from, value, to, capabilities);
  return { value, text: sending.kind === "sent" ? textOf(sending.bytes) : undefined };
}

function textOf(bytes: Uint8Array): string {
  return new TextDecoder().decode(bytes);
}

/** Where a mutation is, and what it put there. */
interface Change {
  readonly path: string;
  /** What the changed request has at the path; `undefined`: nothing that was not there before. */
  readonly value: Json | undefined;
}

function valueAt(value: Json, path: string): Json | undefined {
  let at: Json | undefined = value;
  for (const step of path === "" ? [] : path.split(".")) {
    at = Array.isArray(at) ? at[Number(step)] : isJsonObject(at) ? at[step] : undefined;
  }
  return at;
}

const below = (path: string, step: string) => path === "" ? step : `${path}.${step}`;

/** Reads the place of a mutation. */
export function changeOf({ kind, at }: Mutation<Json>, changed: JsonObject): Change {
  const cut = at.lastIndexOf(": ");
  const path = at.slice(0, cut);
  const what = at.slice(cut + 2);
  if (kind === "renamed") {
    const name = what.slice(what.indexOf(" as ") + " as ".length);
    const renamed = below(path, name);
    return { path: renamed, value: { [name]: valueAt(changed, renamed) ?? null } };
  }
  if (kind === "beside") {
    if (what === "member") return { path: below(path, oddName), value: { [oddName]: oddText } };
    const list = valueAt(changed, path);
    const index = /element (\d+)/.exec(what)?.[1] ??
      String(Array.isArray(list) ? list.length - 1 : 0);
    return { path: below(path, index), value: oddText };
  }
  const isPut = kind === "retyped" || kind === "instead" || kind === "count";
  return { path, value: isPut ? valueAt(changed, path) : undefined };
}

/** The texts, numbers and names of a value. */
function leaves(value: Json): string[] {
  if (Array.isArray(value)) return value.flatMap(leaves);
  if (isJsonObject(value)) {
    return Object.entries(value).flatMap(([name, one]) => [name, ...leaves(one ?? null)]);
  }
  return value === null || typeof value === "boolean" ? [] : [String(value)];
}

/** Whether a request has all of a value, as it is or within a text of JSON. */
function holds(text: string, value: Json): boolean {
  // The Gemini style has types of schemas in upper case.
  const lower = text.toLowerCase();
  return leaves(value).every((leaf) => {
    let written = leaf.toLowerCase();
    // As it is, as JSON, and as JSON within the JSON of arguments or of a result.
    for (let times = 0; times < 3; times++) {
      if (lower.includes(written)) return true;
      written = JSON.stringify(written).slice(1, -1);
    }
    return false;
  });
}

/** Whether a warning speaks of a place. */
export function speaksOf(name: string, path: string): boolean {
  return name === path || path.startsWith(`${name}.`) || name.startsWith(`${path}.`);
}

/** Decides what became of a mutation. */
export function fateOf(
  way: Way,
  base: OriginalRequest,
  mutation: Mutation<Json>,
  isExcepted: (path: string, kind: Mutation<Json>["kind"]) => boolean,
): RequestFate | RequestFault {
  const changed = mutation.apply();
  if (!isJsonObject(changed)) return "nothing to lose";
  let sending;
  try {
    sending = sentRequest(way.from, changed, way.to, way.capabilities);
  } catch (error) {
    return { fault: "crashed", why: String(error) };
  }
  if (sending.kind === "refused") return "refused";
  const text = textOf(sending.bytes);
  const refusal = validateRequest(way.to, sentValue(way.to, sending.bytes));
  if (refusal !== undefined) return { fault: "invalid", why: `${refusal} in ${text}` };
  const { path, value } = changeOf(mutation, changed);
  if (value === undefined || leaves(value).length === 0) return "nothing to lose";
  if (sending.dropped.includes("more") || sending.dropped.some((name) => speaksOf(name, path))) {
    return "named";
  }
  if (holds(text, value)) return "carried";
  if (isExcepted(path, mutation.kind)) return "excepted";
  const isUnknown = mutation.kind === "beside" || mutation.kind === "instead";
  if (!isUnknown && (text === base.text || base.text === undefined)) return "read as before";
  return { fault: "lost", why: `${JSON.stringify(value)} is not in ${text}` };
}
