/** Converts recorded exchanges in every direction and counts the results. */
import { ascending } from "../../../core/lib/base/ascending.ts";
import { offerSearch } from "../../../core/calls/rounds/search_function.ts";
import {
  convertAnswer,
  convertRequest,
  readConversation,
  writeConversation,
} from "../../../core/wire/convert/convert.ts";
import type { FetchedDocuments, Style } from "../../../core/wire/contract/contract.ts";
import { validateRequest } from "../../../sandbox/vendor_validators/validators.ts";
import { GatewayError } from "../../../core/lib/errors/errors.ts";
import { isJsonObject, type JsonObject } from "../../../core/lib/json/json.ts";
import { context, essence, readStream, readWhole } from "../clients.ts";
import { contentOf, convertStream } from "../converted_stream.ts";
import { otherStyles, type Recording, styles } from "../recordings.ts";
import { lostOfAnswer, lostOfRequest } from "./losses.ts";

/** The conversions to measure; the tests of the report replace them with faulty ones. */
export interface Conversions {
  readonly request: typeof convertRequest;
  readonly answer: typeof convertAnswer;
  readonly stream: typeof convertStream;
}

export const ownConversions: Conversions = {
  request: convertAsServed,
  answer: convertAnswer,
  stream: convertStream,
};

/** Whatever a request names by URL, as the gateway would have fetched it: a picture of one point, an empty file. */
const fetchedFiles = {
  picture: { mediaType: "image/gif", base64: "R0lGODlhAQABAIAAAAAAAAAAACwAAAAAAQABAAACAkQBADs=" },
  document: { mediaType: "application/pdf", base64: "JVBERi0xLjQKJSVFT0YK" },
} as const;

const fetched: FetchedDocuments = {
  get: (_url, kind) => kind === "picture" ? fetchedFiles.picture : fetchedFiles.document,
};

/** The data for which a URL was given; `undefined` for other text. */
function dataOf(text: string): string | undefined {
  return /^https?:/u.test(text) ? fetchedFiles.picture.base64 : undefined;
}

/**
 * Converts a request as a gateway serves it that has all that an operator can give it: files behind URLs are fetched, and
 * where the route's model cannot search the web, the search is offered as a function that the gateway runs.
 */
function convertAsServed(...[from, to, body, options]: Parameters<typeof convertRequest>) {
  const served = { ...options, documents: fetched };
  const converted = convertRequest(from, to, body, served);
  if (converted.ok) return converted;
  const offered = attempt(() => offerSearch(readConversation(from, body, served)));
  if (!offered.ok || offered.value === undefined) return converted;
  const { conversation } = offered.value;
  const written = attempt(() => writeConversation(conversation, to, served));
  return written.ok ? { ok: true as const, request: written.value } : converted;
}

/** The counts of one direction. */
export interface Row {
  readonly from: Style;
  readonly to: Style;
  requests: number;
  valid: number;
  refusedByName: number;
  invalid: number;
  /** Requests and answers that lost something without naming it. */
  weightyLosses: number;
  answers: number;
  wholeUsable: number;
  streams: number;
  streamUsable: number;
  /** Streams that can be compared with a whole answer, and those that are equal to it. */
  comparable: number;
  streamIsWhole: number;
  /** Deviations, as names of recordings and fields, never their content. */
  readonly remarks: string[];
}

/** One row for each direction, in the order of the styles. */
export function measure(
  recordings: readonly Recording[],
  conversions: Conversions = ownConversions,
): Row[] {
  return styles.flatMap((from) =>
    otherStyles(from).map((to) => {
      const row = newRow(from, to);
      for (const recording of recordings) {
        if (recording.style !== from || recording.status !== 200) continue;
        measureRequest(recording, conversions, row);
        measureAnswer(recording, conversions, row);
        measureStream(recording, conversions, row);
      }
      return row;
    })
  );
}

function newRow(from: Style, to: Style): Row {
  return {
    from,
    to,
    requests: 0,
    valid: 0,
    refusedByName: 0,
    invalid: 0,
    weightyLosses: 0,
    answers: 0,
    wholeUsable: 0,
    streams: 0,
    streamUsable: 0,
    comparable: 0,
    streamIsWhole: 0,
    remarks: [],
  };
}

function measureRequest({ name, request }: Recording, { request: convert }: Conversions, row: Row) {
  // Requests that only count tokens have no answer.
  if (request === undefined || (row.from === "messages" && !("max_tokens" in request))) return;
  row.requests++;
  const options = { capabilities: {}, upstreamModel: "m", maxOutputTokens: 128_000 };
  const conversion = convert(row.from, row.to, request, options);
  if (!conversion.ok) {
    const { param } = conversion.error;
    if (param === undefined || param === "") row.invalid++;
    else row.refusedByName++;
    row.remarks.push(`${name}: refused, ${param ?? "without a name"}`);
    return;
  }
  const { body, dropped } = conversion.request;
  const problem = validateRequest(row.to, body);
  if (problem === undefined) row.valid++;
  else {
    row.invalid++;
    row.remarks.push(`${name}: invalid, ${problem}`);
  }
  remarkLosses(name, "request", lostOfRequest(request, body, dropped, dataOf), row);
}

function remarkLosses(name: string, of: string, lost: readonly string[], row: Row): void {
  if (lost.length === 0) return;
  row.weightyLosses++;
  row.remarks.push(`${name}: ${of} lost ${lost.slice(0, maxPaths).join(", ")}`);
}

/** Paths that a remark names at most. */
const maxPaths = 4;

function measureAnswer({ name, answer }: Recording, { answer: convert }: Conversions, row: Row) {
  // Counts of tokens are no answers.
  if (!isJsonObject(answer) || "input_tokens" in answer) return;
  row.answers++;
  const converted = attempt(
    () => readWhole(row.to, convert(row.from, row.to, answer, context, {})),
  );
  if (!converted.ok) {
    row.remarks.push(`${name}: answer not usable, ${converted.why}`);
    return;
  }
  row.wholeUsable++;
  remarkLosses(name, "answer", lostOfAnswer(row.from, answer, row.to, converted.value), row);
}

function measureStream(recording: Recording, conversions: Conversions, row: Row) {
  const { name, stream } = recording;
  if (stream === undefined) return;
  row.streams++;
  const outcome = attempt(() =>
    readStream(row.to, conversions.stream(row.from, row.to, [stream]).bytes)
  );
  if (!outcome.ok || outcome.value.kind === "error") {
    const why = outcome.ok ? "an error" : outcome.why;
    row.remarks.push(`${name}: stream not usable, ${why}`);
    return;
  }
  row.streamUsable++;
  const streamed = outcome.value.answer;
  const whole = attempt(() =>
    readWhole(row.to, conversions.answer(row.from, row.to, contentOf(recording), context, {}))
  );
  if (!whole.ok) return;
  row.comparable++;
  if (text(row.to, streamed) === text(row.to, whole.value)) row.streamIsWhole++;
  else row.remarks.push(`${name}: the stream says something else than the whole`);
}

function text(style: Style, answer: JsonObject): string {
  return JSON.stringify(sorted(essence(style, answer)));
}

/** Sorts members, so that equal answers become equal texts. */
function sorted(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(sorted);
  if (!isJsonObject(value)) return value;
  return Object.fromEntries(
    Object.entries(value).sort(([a], [b]) => ascending(a, b)).map(([key, entry]) => [
      key,
      sorted(entry),
    ]),
  );
}

type Attempt<Value> =
  | { readonly ok: true; readonly value: Value }
  | { readonly ok: false; readonly why: string };

/** Returns what a strict client reads from an answer, or the kind of its error. The message may quote the answer. */
function attempt<Value>(run: () => Value): Attempt<Value> {
  try {
    return { ok: true, value: run() };
  } catch (error) {
    const why = error instanceof GatewayError
      ? error.code
      : error instanceof Error
      ? error.name
      : "error";
    return { ok: false, why };
  }
}
