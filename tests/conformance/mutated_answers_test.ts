/**
 * Answers of providers that nobody recorded: every answer is changed in one place, and delivered natively and to the clients
 * of the other styles. What the provider said reaches the client, or its loss is named, or the answer is a failure that
 * costs nothing; what a client gets, its strict client accepts; nothing is paid for an empty answer.
 */
import { assert, assertEquals } from "../support/assert.ts";
import { casesOf } from "../support/property.ts";
import { runSeed, seededRandom } from "../support/random.ts";
import { report } from "../support/report.ts";
import {
  chosen,
  jsonMutations,
  type Mutation,
  MutationTally,
  streamMutations,
  streamText,
} from "../support/mutations.ts";
import type { Json } from "../../core/lib/json/json.ts";
import { deliverStream, deliverWhole } from "./mutated/deliveries.ts";
import { exceptionOf, judge, lookedFor, upstreamOf } from "./mutated/oracle.ts";
import { type Original, originals } from "./mutated/originals.ts";
import { styles } from "./recordings.ts";

/** Mutations of one answer, in the long tier; each is delivered to four clients. */
const mutationsOfAnswer = 900;

const seed = runSeed() ?? Math.floor(Math.random() * 2 ** 31);
const encoder = new TextEncoder();

function parsed(data: string): Json {
  try {
    const value: Json = JSON.parse(data);
    return value;
  } catch {
    return null;
  }
}

/** Places named like a text that hold none: begins of what deltas then say, settings, results of the provider's tools. */
const noText: readonly RegExp[] = [
  /(?:_start|\.added|\.created|in_progress|_part\.done): /,
  /response\.text: /,
  /^content\.\d+\.content: /,
];

/** The mutations of an answer, as the texts of bodies. */
function mutationsOf({ whole, frames }: Original): readonly Mutation<string>[] {
  const all = frames === undefined
    ? jsonMutations(whole ?? null).map(({ apply, ...mutation }) => ({
      ...mutation,
      apply: () => JSON.stringify(apply()),
    }))
    : streamMutations(frames);
  const unchanged: Mutation<string> = {
    kind: "deleted",
    at: "nothing",
    apply: () => frames === undefined ? JSON.stringify(whole) : streamText(frames),
  };
  return [unchanged, ...all];
}

/** Delivers some mutations of an answer to all clients; returns what is wrong. */
async function faultsOf(
  original: Original,
  random: () => number,
  tallies: readonly MutationTally[],
): Promise<string[]> {
  const faults: string[] = [];
  const { name, style, whole, frames } = original;
  const isStream = frames !== undefined;
  const pieces = lookedFor(frames?.map(({ data }) => parsed(data)) ?? [whole ?? null]);
  for (const mutation of chosen(mutationsOf(original), casesOf(mutationsOfAnswer), random)) {
    const text = mutation.apply();
    const isOddText = /\.(?:text|content): number$/.test(mutation.at) &&
      !noText.some((place) => place.test(mutation.at));
    const upstream = upstreamOf(text, isStream);
    for (const to of styles) {
      const direction = { from: style, to };
      const bytes = encoder.encode(text);
      const delivered = isStream
        ? await deliverStream(direction, bytes)
        : await deliverWhole(direction, bytes);
      const mutated = { pieces, isStream, text, upstream, isOddText };
      const verdict = judge(direction, mutated, delivered);
      const isKnown = exceptionOf(original, mutation, verdict) !== undefined;
      const kind = `${mutation.kind} ${isStream ? "stream" : "whole"}${
        style === to ? ", native" : ""
      }`;
      for (const tally of tallies) tally.add(kind, isKnown ? "excepted" : verdict.fate);
      const isFault = verdict.fate === "lost" || verdict.fate === "emptyPaid" ||
        verdict.fate === "unreadable";
      if (isFault && !isKnown) {
        faults.push(
          `${verdict.fate}: ${name} to ${to}, ${mutation.kind} ${mutation.at}: ${verdict.detail}`,
        );
      }
    }
  }
  return faults;
}

/** Answers written by hand, of which most mutations do no harm: one that is refused needs a reason. */
const harmlessOriginals = 10;

Deno.test("a mutated answer is delivered, its loss named, or it is free; most are delivered", async () => {
  const random = seededRandom(seed);
  const [tally, first] = [new MutationTally(), new MutationTally()];
  const faults: string[] = [];
  for (const [at, original] of originals().entries()) {
    const tallies = at < harmlessOriginals ? [tally, first] : [tally];
    faults.push(...await faultsOf(original, random, tallies));
  }
  report(`seed ${seed}: ${tally.total} deliveries of mutated answers`);
  for (const line of tally.lines()) report(`  ${line}`);
  assertEquals(faults.slice(0, 40), [], `${faults.length} faults, seed ${seed}`);
  const delivered = first.lines().join(" ").matchAll(/(\d+) (?:same|named)/gu);
  const count = [...delivered].reduce((sum, [, digits]) => sum + Number(digits), 0);
  assert(count > first.total / 2, `${count} of ${first.total} were delivered`);
});
