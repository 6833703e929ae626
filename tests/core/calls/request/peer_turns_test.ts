/** What instances ask each other about kept turns, sealed: nothing else opens, and nothing opens twice. */
import * as fc from "../../../support/property.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import {
  maxQuestionAgeMs,
  openAnswer,
  QuestionReader,
  sealAnswer,
  sealQuestion,
} from "../../../../core/calls/request/peer_turns.ts";
import type { KeptResponse } from "../../../../core/calls/request/kept_responses.ts";
import type { AccountId } from "../../../../core/lib/ids/ids.ts";
import { newMasterKey, readMasterKeys } from "../../../../core/people/api_keys/seal.ts";
import { ManualTime } from "../../../support/manual_time.ts";

const encoder = new TextEncoder();
const keys = await readMasterKeys(newMasterKey());
const strangersKeys = await readMasterKeys(newMasterKey());
const address = "http://10.0.0.1:8787";

const question = fc.record({
  act: fc.constantFrom("read" as const, "remove" as const),
  account: fc.string().map((text) => text as AccountId),
  id: fc.string({ unit: "binary" }),
}, { noNullPrototype: true });

/** A turn as it is kept: the last of its items is the output of its response. */
const turn = fc.tuple(fc.array(fc.uint8Array()), fc.jsonValue()).map(([items, value]) => {
  const output = JSON.stringify([value]);
  return {
    response: encoder.encode(`{"id":"resp_1","output":${output},"n":1.50}`),
    items: [...items, encoder.encode(output.slice(1, -1))],
  } satisfies KeptResponse;
});

/** One changed, removed or added byte. */
const change = fc.record({
  at: fc.nat(),
  flip: fc.integer({ min: 1, max: 255 }),
  kind: fc.constantFrom("flip", "cut", "insert"),
});
type Change = typeof change extends fc.Arbitrary<infer Value> ? Value : never;

function changed(bytes: Uint8Array, { at, flip, kind }: Change): Uint8Array {
  const place = at % bytes.length;
  const list = [...bytes];
  if (kind === "flip") list[place]! ^= flip;
  else if (kind === "cut") list.length = place;
  else list.splice(place, 0, flip);
  return Uint8Array.from(list);
}

Deno.test("a question opens once, at its address, with a master key; its answer opens for it alone", async () => {
  await fc.assert(
    fc.asyncProperty(
      question,
      fc.option(turn, { nil: undefined }),
      change,
      async (asked, kept, mutation) => {
        const time = new ManualTime(1_800_000_000_000);
        const reader = new QuestionReader(keys, address, time);
        const { sealed, ...question } = await sealQuestion(keys, asked, {
          address,
          nowMs: time.nowMs(),
        });
        for (const part of [asked.account, asked.id]) {
          assert(part.length < 4 || !sealed.includes(part), "the network learns nothing");
        }
        const mutant = new TextDecoder().decode(changed(encoder.encode(sealed), mutation));
        const strangers = new QuestionReader(strangersKeys, address, time);
        const others = new QuestionReader(keys, `${address}0`, time);
        assertEquals(await strangers.read(sealed), undefined);
        assertEquals(await others.read(sealed), undefined);
        // Some letters of base64url say the same: such a text counts as the question itself.
        const first = await reader.read(mutant);
        const read = first ?? await reader.read(sealed);
        assert(read !== undefined);
        const { answerKey: _, ...facts } = read;
        assertEquals(facts, asked);
        assertEquals([await reader.read(sealed), await reader.read(mutant)], [
          undefined,
          undefined,
        ]);

        const answer = { isThere: kept !== undefined, turn: kept };
        const bytes = await sealAnswer(read, answer);
        const opened = await openAnswer(question, bytes);
        assertEquals(opened?.isThere, answer.isThere);
        if (asked.act === "read") assertEquals(opened?.turn, kept);
        const other = await sealQuestion(keys, asked, { address, nowMs: time.nowMs() });
        assertEquals(await openAnswer(other, bytes), undefined);
        assertEquals(await openAnswer(question, changed(bytes, mutation)), undefined);
      },
    ),
  );
});

Deno.test("a question is taken only near its time, and once", async () => {
  const skew = fc.integer({ min: -2 * maxQuestionAgeMs, max: 2 * maxQuestionAgeMs });
  const steps = fc.array(fc.nat({ max: maxQuestionAgeMs }), { minLength: 1, maxLength: 8 });
  await fc.assert(fc.asyncProperty(skew, steps, async (skewMs, steps) => {
    const time = new ManualTime(1_800_000_000_000);
    const reader = new QuestionReader(keys, address, time);
    const asked = { act: "read" as const, account: "acc_1" as AccountId, id: "resp_1" };
    const nowMs = time.nowMs() + skewMs;
    const { sealed } = await sealQuestion(keys, asked, { address, nowMs });
    let wasTaken = false;
    for (const step of steps) {
      time.advance(step);
      const isNear = Math.abs(time.nowMs() - nowMs) <= maxQuestionAgeMs;
      assertEquals(await reader.read(sealed) !== undefined, isNear && !wasTaken);
      wasTaken ||= isNear;
    }
  }));
});
