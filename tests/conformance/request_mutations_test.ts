/**
 * Whatever a client sends, each thing in it is carried, named or refused with 400 on its way to every other style, and
 * no provider gets a request that its vendor's rules refuse. Natively the bytes pass as they are.
 *
 * The requests are those of the project's tests, and the recorded ones where `WIRE_FIXTURES` names them; each mutation
 * changes one thing. A fault shows the way and the place; `SEED` repeats a run.
 */
import { assert, assertEquals } from "../support/assert.ts";
import type { Json, JsonObject } from "../../core/lib/json/json.ts";
import type { Style } from "../../core/wire/contract/contract.ts";
import { validateRequest } from "../../sandbox/vendor_validators/validators.ts";
import { wholeRequests } from "../core/wire/conversion/whole_requests.ts";
import { chosen, jsonMutations, type Mutation, MutationTally } from "../support/mutations.ts";
import { casesOf } from "../support/property.ts";
import { runRandom, runSeed } from "../support/random.ts";
import { report } from "../support/report.ts";
import { oddRequests } from "./odd_requests.ts";
import { readAllRecordings, recordingsFolder, styles, targetStyles } from "./recordings.ts";
import { fateOf, original, type OriginalRequest, type Way } from "./request_fates.ts";
import { routes } from "./routes.ts";
import { sentRequest, sentValue, upstreamModel } from "./sent_requests.ts";

/** A loss on the way to a provider that needs no word, with the reason; `docs/conversion.md` lists it too. */
interface Exception {
  readonly reason: string;
  readonly paths: RegExp;
}

const everywhere: readonly Exception[] = [
  { reason: "the route's own name of the model goes out", paths: /^model$/ },
  {
    reason: "the client's own user: only where a route asks for it",
    paths: /^(?:user|safety_identifier|metadata\.user_id)$/,
  },
  {
    reason: "sources and probabilities of earlier answers change no answer",
    paths: /\.(?:annotations|citations|logprobs)(?:\.|$)/,
  },
  {
    reason: "a budget that a route does not take becomes a level",
    paths: /(?:budget_tokens|thinkingBudget|^reasoning\.max_tokens)$/,
  },
  {
    reason: "hosted tools have one name; one that may not be called is not sent",
    paths: /^tools\.\d+\.(?:function\.|custom\.)?name$/,
  },
  {
    reason: "models of other styles look at the whole picture",
    paths: /\.detail$/,
  },
];

const byStyle: Readonly<Record<Style, readonly Exception[]>> = {
  messages: [
    {
      reason: "thoughts and their proofs go to their maker only",
      paths: /^messages\.\d+\.content\.\d+\.(?:thinking|signature|data)$/,
    },
    { reason: "who else may call a tool", paths: /^tools\.\d+\.allowed_callers(?:\.|$)/ },
    { reason: "the schema says the same", paths: /^tools\.\d+\.input_examples(?:\.|$)/ },
    {
      reason: "lists tools of a server by name, which is on unless it says otherwise",
      paths: /^tools\.\d+\.configs(?:\.|$)/,
    },
  ],
  chat: [
    { reason: "no other style names participants", paths: /^messages\.\d+\.name$/ },
    {
      reason: "formats of other styles have no name",
      paths: /^response_format\.json_schema\.name$/,
    },
  ],
  responses: [
    { reason: "ids and states of stored items", paths: /^input\.\d+\.(?:id|status)$/ },
    {
      reason: "thoughts and their proofs go to their maker only",
      paths: /^input\.\d+\.(?:summary|encrypted_content|content\.\d+)(?:\.|$)/,
    },
    { reason: "formats of other styles have no name", paths: /^text\.format\.name$/ },
  ],
  gemini: [
    { reason: "it is in the path", paths: /^stream$/ },
    {
      reason: "the id or the order tells which call is meant",
      paths: /\.functionResponse\.(?:id|name)$/,
    },
    { reason: "notes of the client", paths: /\.partMetadata(?:\.|$)/ },
    { reason: "what a function returns", paths: /\.(?:response|responseJsonSchema)(?:\.|$)/ },
    {
      reason: "thoughts and their proofs go to their maker only",
      paths: /^contents(?:\.\d+\.parts)?(?:\.\d+\.(?:thoughtSignature|text|thought))?$/,
    },
  ],
};

/** Whether a place may be lost in silence. */
function isException(from: Style, path: string): boolean {
  return [...everywhere, ...byStyle[from]].some(({ paths }) => paths.test(path));
}

/** Mutations of the long run on the way from one style to another; the fast tier draws a tenth. */
const mutationsPerWay = 15_000;

/** Mutations of the long run for each style natively. */
const nativeMutations = 3_000;

/** Bytes of a recorded request: mutations of longer ones take long and find the same. */
const maxRecordedBytes = 40_000;

/** Faults that a failing run prints. */
const maxShownFaults = 12;

function recorded(style: Style): JsonObject[] {
  const folder = recordingsFolder();
  if (folder === undefined) return [];
  return readAllRecordings(folder).flatMap((recording) => {
    const { request, status } = recording;
    const isUsable = recording.style === style && status === 200 && request !== undefined &&
      JSON.stringify(request).length <= maxRecordedBytes;
    return isUsable ? [request] : [];
  });
}

const bases = new Map(
  styles.map((style) => [
    style,
    [...wholeRequests[style], ...oddRequests[style], ...recorded(style)],
  ]),
);

function basesOf(style: Style): readonly JsonObject[] {
  return bases.get(style) ?? [];
}

/** Draws mutations of all requests of a style, evenly. */
function* drawnMutations(
  style: Style,
  count: number,
): Generator<{ readonly value: JsonObject; readonly mutation: Mutation<Json> }> {
  const values = basesOf(style);
  for (const value of values) {
    const mutations = chosen(jsonMutations(value), Math.ceil(count / values.length), runRandom);
    for (const mutation of mutations) yield { value, mutation };
  }
}

function pick<One>(list: readonly One[]): One {
  return list[Math.floor(runRandom() * list.length)] as One;
}

for (const from of styles) {
  for (const to of targetStyles(from)) {
    Deno.test(`each change of a ${from} request is carried to ${to}, named or refused`, () => {
      const tally = new MutationTally();
      const faults: string[] = [];
      const originals = new Map<JsonObject, OriginalRequest>();
      let capabilities = pick(routes[to]);
      let last: JsonObject | undefined;
      for (const { value, mutation } of drawnMutations(from, casesOf(mutationsPerWay))) {
        if (value !== last) capabilities = pick(routes[to]);
        last = value;
        const way: Way = { from, to, capabilities };
        const base = originals.get(value) ?? original(way, value);
        originals.set(value, base);
        const fate = fateOf(way, base, mutation, (path) => isException(from, path));
        tally.add(mutation.kind, typeof fate === "string" ? fate : fate.fault);
        if (typeof fate === "string") continue;
        faults.push(`${fate.fault}: ${mutation.kind} ${mutation.at}: ${fate.why.slice(0, 400)}`);
      }
      report(`${tally.total} mutations ${from} to ${to}, seed ${runSeed() ?? "drawn"}`);
      for (const line of tally.lines()) report(`  ${line}`);
      assertEquals(faults.slice(0, maxShownFaults), []);
    });

    Deno.test(`each odd ${from} request is refused, or such that a ${to} vendor takes it`, () => {
      for (const value of basesOf(from)) {
        for (const capabilities of routes[to]) {
          const sending = sentRequest(from, value, to, capabilities);
          if (sending.kind === "refused") continue;
          const sent = sentValue(to, sending.bytes);
          assertEquals(
            validateRequest(to, sent),
            undefined,
            JSON.stringify({ value, sent, capabilities }),
          );
        }
      }
    });
  }
}

/** The request as it was sent, with the members of its path and the provider's name of the model. */
function asSent(style: Style, value: JsonObject): JsonObject {
  const { model: _, stream: _stream, ...rest } = value;
  return style === "gemini" ? rest : { ...value, model: upstreamModel };
}

/** Leaves out what the gateway writes itself: usage is asked for, and nothing is stored at the provider. */
function withoutOwnFields(value: JsonObject): JsonObject {
  const {
    store: _store,
    metadata: _metadata,
    include: _include,
    stream_options: _options,
    ...rest
  } = value;
  return rest;
}

for (const style of styles) {
  Deno.test(`each change of a ${style} request reaches a provider of its own style, or is refused`, () => {
    let sent = 0;
    for (const { mutation } of drawnMutations(style, casesOf(nativeMutations))) {
      const value = mutation.apply();
      if (typeof value !== "object" || value === null || Array.isArray(value)) continue;
      const sending = sentRequest(style, value as JsonObject, style, { tool_id: "any" });
      if (sending.kind === "refused") continue;
      sent++;
      const got: Json = JSON.parse(new TextDecoder().decode(sending.bytes));
      const expected = withoutOwnFields(asSent(style, value as JsonObject));
      assertEquals(withoutOwnFields(got as JsonObject), expected, mutation.at);
    }
    assert(sent > 0, "every request was refused");
  });
}
