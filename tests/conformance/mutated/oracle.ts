/** Judges the delivery of a mutated answer: what the provider said reaches the client, or its loss is named, or free. */
import type { ProviderStyle, Style } from "../../../core/wire/contract/contract.ts";
import { isJsonObject, type Json } from "../../../core/lib/json/json.ts";
import { oddNumber } from "../../support/mutations.ts";
import { StrictClientError } from "../../support/strict_client/strict_client.ts";
import { readStream, readWhole } from "../clients.ts";
import { leavesOf, piecesOf, plain, valuesOf } from "./content.ts";
import type { Delivered, Direction } from "./deliveries.ts";

/** Characters that a piece has at least: shorter ones occur anywhere. */
const minPieceChars = 4;

/** A mutated answer of a provider. */
export interface Mutated {
  /** What the provider had said before the mutation. */
  readonly pieces: readonly string[];
  readonly isStream: boolean;
  readonly text: string;
  /** All texts of the mutated answer, as {@linkcode plain} has them. */
  readonly upstream: string;
  /** Whether the mutation put {@linkcode oddNumber} in the place of something that was said. */
  readonly isOddText: boolean;
}

/** What came of a delivery. `lost`, `unreadable`, `emptyPaid` are faults. */
export interface Verdict {
  readonly fate:
    | "failed"
    | "broken"
    | "free"
    | "same"
    | "named"
    | "lost"
    | "emptyPaid"
    | "unreadable";
  readonly detail?: string;
}

/** What of an original can be looked for. */
export function lookedFor(values: readonly Json[]): string[] {
  const pieces = piecesOf(values).map(plain).filter(({ length }) => length >= minPieceChars);
  return [...new Set(pieces)];
}

/** All texts of a mutated answer, for {@linkcode Mutated}. */
export function upstreamOf(text: string, isStream: boolean): string {
  return plain(leavesOf(valuesOf(text, isStream)).join(" "));
}

const decoder = new TextDecoder();

/** Endings with which an answer without content is one, and content that no client reads. */
const emptyEnds =
  /"(?:finish_reason|stop_reason|stopReason|finishReason|reason|status|blockReason)": ?"(?!stop"|STOP"|end_turn"|completed"|in_progress"|tool_calls"|tool_use")|redacted/i;

/** Tokens of an answer that is its end alone. */
const maxEndTokens = 3;

/** Complaints of strict clients about what the gateway passes on by design, with the reason. */
const byDesign: readonly (readonly [RegExp, string])[] = [
  [
    /Invalid option[^]*at [^ ]*(?:finish_reason|stop_reason|incomplete_details.reason)/u,
    "a word for the end that the gateway does not know is passed on by its name",
  ],
  [/the usage chunk is missing/u, "the provider reported no usage that can be read"],
  [
    /arguments are not JSON|input is not JSON/u,
    "pieces of arguments are missing, doubled or swapped, and no event of the style tells",
  ],
];

export function judge(
  { from, to }: Direction,
  { pieces, isStream, text, upstream, isOddText }: Mutated,
  delivered: Delivered,
): Verdict {
  if (delivered.kind === "failed") return { fate: "failed" };
  const client = decoder.decode(delivered.bytes);
  if (from !== to) {
    const complaint = complaintOf(to, delivered.bytes, isStream);
    if (complaint !== undefined) return { fate: "unreadable", detail: complaint };
  }
  if (delivered.isBroken) return { fate: "broken" };
  if (!delivered.isPaid) return { fate: "free" };
  const values = valuesOf(client, isStream);
  const said = piecesOf(values).join("");
  const reached = plain(said);
  if (
    said.trim() === "" &&
    !/left out|"images"|inlineData|image_generation_call|_tool_result|web_search_call/.test(client)
  ) {
    const { usage } = delivered;
    const isEnd = usage !== undefined && usage.output - usage.reasoning <= maxEndTokens;
    const isKnown = isEnd || emptyEnds.test(text) || (from === to && hasUnknown(values, from));
    if (!isKnown) return { fate: "emptyPaid", detail: text.slice(0, 2_000) };
  }
  if (from === to) return { fate: "same" };
  const missing = pieces.filter((piece) => upstream.includes(piece) && !reached.includes(piece));
  if (isOddText && !reached.includes(String(oddNumber))) missing.push(String(oddNumber));
  if (missing.length === 0) return { fate: "same" };
  const isNamed = delivered.dropped.some((name) => name.startsWith("answer")) ||
    /left out|x-gateway-conversion/.test(client);
  return isNamed ? { fate: "named" } : { fate: "lost", detail: missing.join(" | ").slice(0, 300) };
}

/** Whether a native answer has something that only its client may know: parts of Gemini are named by their members. */
function hasUnknown(values: readonly Json[], style: ProviderStyle): boolean {
  const unknown = style === "gemini" ? /new_kind|"parts":\[\{"(?!text"|thought)/ : /new_kind/;
  return values.some((value) => isJsonObject(value) && unknown.test(JSON.stringify(value)));
}

function complaintOf(to: Style, bytes: Uint8Array, isStream: boolean): string | undefined {
  try {
    if (isStream) readStream(to, bytes);
    else readWhole(to, JSON.parse(decoder.decode(bytes)));
  } catch (error) {
    if (!(error instanceof StrictClientError)) throw error;
    const { message } = error;
    return byDesign.some(([complaint]) => complaint.test(message)) ? undefined : message;
  }
  return undefined;
}

/** A mutation whose fault is accepted. */
interface Exception {
  readonly because: string;
  /** Names of answers. */
  readonly answer?: RegExp;
  /** Places of mutations, after their kind. */
  readonly at?: RegExp;
  readonly detail?: RegExp;
}

/** What the property does not ask for. */
const exceptions: readonly Exception[] = [
  { because: "the client asks for one answer, and the recording has two", answer: /n-2-tools/u },
  {
    because: "its arguments were cut by the limit: what is not whole of them is left out",
    answer: /incomplete-tool-json/u,
  },
  {
    because:
      "pieces of arguments are missing, doubled or swapped: what is no JSON cannot be carried",
    answer: /stream$/u,
    at:
      /content_block_|tool_calls|function_call_arguments|contentBlock|choices|event \d+: (?:whole|with|:|at)/u,
    detail: /^[\w|. ]{0,80}$/u,
  },
  {
    because: "a call has two names or ids, of which the client gets the first",
    at:
      /(?:name|id|call_id): (?:word|part|text|object|list|parts|number|true|null|no text)$|item: item$|: item/u,
  },
  {
    because: "a text came twice: the client has it, and once more",
    at: /^doubled /u,
  },
  {
    because:
      "one word came in place of another: nothing of a text shows that it is not the model's",
    at:
      /^instead event \d+ (?:response\.output_text\.delta|content_block_delta|: .*(?:content|text)): (?:delta|delta\.text): word$/u,
  },
];

/** Why a fault is accepted; `undefined` if it is not. */
export function exceptionOf(
  { name }: { readonly name: string },
  { kind, at }: { readonly kind: string; readonly at: string },
  { fate, detail = "" }: Verdict,
): string | undefined {
  if (fate !== "lost" && fate !== "unreadable" && fate !== "emptyPaid") return undefined;
  return exceptions.find((one) =>
    (one.answer?.test(name) ?? true) && (one.at?.test(`${kind} ${at}`) ?? true) &&
    (one.detail?.test(detail) ?? true)
  )?.because;
}
