import * as fc from "../../../support/property.ts";
import { assert, assertEquals } from "../../../support/assert.ts";
import {
  continuedBody,
  type KeptResponseBounds,
  KeptResponses,
  previousId,
  responseKeptMs,
  type TurnDraft,
} from "../../../../core/calls/request/kept_responses.ts";
import { parseJsonBody } from "../../../../core/calls/body/json_body.ts";
import { Deadlines } from "../../../../core/lib/time/deadlines.ts";
import { joined } from "../../../../core/lib/bytes/byte_parts.ts";
import { ManualTime } from "../../../support/manual_time.ts";

const bytes = (text: string) => new TextEncoder().encode(text);
const text = (given: Uint8Array) => new TextDecoder().decode(given);
/** A coarse wheel: hours pass in a test. */
const tickMs = 10_000;
const bounds = { totalBytes: 2_000, accountBytes: 900, totalTurns: 12, accountTurns: 5 };

function responseOf(id: string, output: string): Uint8Array {
  return bytes(`{"object":"response","id":"${id}","output":[ ${output} ],"x":1.50}`);
}

// The model: a list of turns, each with all its pieces; pieces that two turns share are one object.

interface Piece {
  readonly account: string;
  readonly items: string;
  readonly bytes: number;
}

interface ModelTurn {
  readonly account: string;
  readonly id: string;
  readonly pieces: readonly Piece[];
  readonly response: string;
  readonly endedMs: number;
}

interface Running {
  readonly account: string;
  readonly draft: TurnDraft;
  readonly pieces: readonly Piece[];
}

class Model {
  turns: ModelTurn[] = [];
  running: Running[] = [];

  pieces(account?: string): Set<Piece> {
    const all = [...this.turns, ...this.running].flatMap(({ pieces }) => pieces);
    return new Set(all.filter((piece) => account === undefined || piece.account === account));
  }

  bytes(account?: string): number {
    return [...this.pieces(account)].reduce((sum, piece) => sum + piece.bytes, 0);
  }

  find(account: string, id: string, nowMs: number): ModelTurn | undefined {
    const found = this.turns.find((turn) => turn.account === account && turn.id === id);
    return found && nowMs - found.endedMs < responseKeptMs ? found : undefined;
  }

  remove(turn: ModelTurn | undefined): void {
    this.turns = this.turns.filter((other) => other !== turn);
  }

  /** Removes the oldest turns until so much more fits. */
  fits(account: string, whole: number, more: number, turns: number): boolean {
    if (whole > bounds.accountBytes) return false;
    const own = () => this.turns.filter((turn) => turn.account === account);
    while (
      this.bytes(account) + more > bounds.accountBytes || own().length + turns > bounds.accountTurns
    ) {
      if (own().length === 0) return false;
      this.remove(own()[0]);
    }
    while (
      this.bytes() + more > bounds.totalBytes || this.turns.length + turns > bounds.totalTurns
    ) {
      if (this.turns.length === 0) return false;
      this.remove(this.turns[0]);
    }
    return true;
  }
}

const account = fc.constantFrom<string[]>("a", "a", "a", "b", "c");
const id = fc.integer({ min: 0, max: 7 }).map((number) => `resp_${number}`);
const begin = fc.record({
  account,
  /** Which of the kept turns of the account it continues, or the id of none. */
  former: fc.option(fc.oneof(fc.nat({ max: 7 }), fc.nat({ max: 7 }), id), { nil: undefined }),
  length: fc.integer({ min: 0, max: 120 }),
});
const end = fc.record({
  which: fc.nat(),
  id,
  length: fc.integer({ min: 0, max: 300 }),
  isWhole: fc.constantFrom(true, true, true, false),
});
type Begin = typeof begin extends fc.Arbitrary<infer Value> ? Value : never;
type End = typeof end extends fc.Arbitrary<infer Value> ? Value : never;
const step = fc.oneof(
  { weight: 6, arbitrary: fc.record({ kind: fc.constant("call" as const), begin, end }) },
  { weight: 3, arbitrary: begin.map((given) => ({ kind: "begin" as const, begin: given })) },
  { weight: 3, arbitrary: end.map((given) => ({ kind: "end" as const, end: given })) },
  { weight: 1, arbitrary: fc.record({ kind: fc.constant("remove" as const), account, id }) },
  {
    weight: 1,
    arbitrary: fc.constantFrom(responseKeptMs / 2, responseKeptMs)
      .map((ms) => ({ kind: "wait" as const, ms })),
  },
);

/** Everything that a walk changes: what is tested, and the model of it. */
class Walk {
  readonly time = new ManualTime(0);
  readonly deadlines = new Deadlines({ clock: this.time, timer: this.time, tickMs });
  readonly kept = new KeptResponses(this.time, this.deadlines, bounds);
  readonly model = new Model();
  #made = 0;

  begin({ account: owner, former: asked, length }: Begin): void {
    const { kept, model } = this;
    const own = model.turns.filter((turn) => turn.account === owner);
    const id = typeof asked === "number" ? own[asked % Math.max(1, own.length)]?.id : asked;
    const items = length === 0 ? "" : `"${this.#made++}${"x".repeat(length)}"`;
    const draft = kept.draft(owner, { former: id, items: bytes(items) });
    const former = id === undefined ? undefined : model.find(owner, id, this.time.nowMs());
    const pieces = former?.pieces ?? [];
    // The former turn may be removed to make room, but its pieces are needed.
    model.running.push({ account: owner, draft: draft!, pieces });
    const whole = pieces.reduce((sum, part) => sum + part.bytes, items.length);
    const fits = (id === undefined || former !== undefined) &&
      model.fits(owner, whole, items.length, 0);
    model.running.pop();
    assertEquals(draft !== undefined, fits);
    if (draft === undefined) return;
    const piece = { account: owner, items, bytes: items.length };
    model.running.push({ account: owner, draft, pieces: [...pieces, piece] });
  }

  end({ which, id, length, isWhole }: End, isLast = false): void {
    const { model } = this;
    const run = model.running.at(isLast ? -1 : which % Math.max(1, model.running.length));
    if (run === undefined) return;
    const over = () => {
      model.running = model.running.filter((other) => other !== run);
    };
    if (!isWhole) {
      run.draft.drop();
      return over();
    }
    const output = `"${this.#made++}${"y".repeat(length)}"`;
    const response = responseOf(id, output);
    run.draft.keep(response);
    model.remove(model.turns.find((turn) => turn.account === run.account && turn.id === id));
    const whole = run.pieces.reduce((sum, part) => sum + part.bytes, response.length);
    const fits = model.fits(run.account, whole, response.length, 1);
    over();
    if (!fits) return;
    const piece = { account: run.account, items: output, bytes: response.length };
    model.turns.push({
      account: run.account,
      id,
      pieces: [...run.pieces, piece],
      response: text(response),
      endedMs: this.time.nowMs(),
    });
  }

  remove(owner: string, id: string): void {
    const turn = this.model.find(owner, id, this.time.nowMs());
    assertEquals(this.kept.remove(owner, id), turn !== undefined);
    this.model.remove(turn);
  }

  wait(ms: number): void {
    this.time.advance(ms);
    this.sameTurns();
    // Two ticks more, so that what is over has been removed.
    this.time.advance(2 * tickMs);
    const nowMs = this.time.nowMs();
    this.model.turns = this.model.turns.filter(({ endedMs }) => nowMs - endedMs < responseKeptMs);
  }

  sameTurns(): void {
    for (const owner of ["a", "b", "c"]) {
      for (let number = 0; number <= 7; number++) {
        const name = `resp_${number}`;
        const found = this.kept.find(owner, name);
        const expected = this.model.find(owner, name, this.time.nowMs());
        assertEquals(found && text(found.response), expected?.response, `${owner} ${name}`);
        const items = found?.items.map((part) => text(part).trim()).filter((part) => part !== "");
        const wanted = expected?.pieces.map((part) => part.items).filter((part) => part !== "");
        assertEquals(items?.join(","), wanted?.join(","), `${owner} ${name}`);
      }
    }
  }
}

type Step = typeof step extends fc.Arbitrary<infer Value> ? Value : never;

/** A conversation of three turns, then others of the account, until one has to make room. */
const crowded: Step[] = [
  ...Array.from({ length: bounds.accountTurns + 2 }, (_, turn) => ({
    kind: "call" as const,
    begin: {
      account: "a",
      former: turn === 1 || turn === 2 ? turn - 1 : undefined,
      length: bounds.accountBytes / 9,
    },
    end: { which: 0, id: `resp_${turn}`, length: bounds.accountBytes / 9, isWhole: true },
  })),
  { kind: "begin" as const, begin: { account: "a", former: undefined, length: 120 } },
];

Deno.test("turns begin, continue, branch, expire and make room as in a small model, to the byte", () => {
  let [continued, madeRoom] = [0, 0];
  fc.assert(
    fc.property(fc.array(step, { maxLength: 60 }), (steps) => {
      const walk = new Walk();
      const { kept, model, time } = walk;
      for (const taken of steps) {
        const before = model.turns.length;
        switch (taken.kind) {
          case "call": {
            const running = model.running.length;
            walk.begin(taken.begin);
            if (model.running.length > running) walk.end(taken.end, true);
            break;
          }
          case "begin":
            walk.begin(taken.begin);
            break;
          case "end":
            walk.end(taken.end);
            break;
          case "remove":
            walk.remove(taken.account, taken.id);
            break;
          case "wait":
            walk.wait(taken.ms);
        }
        if (taken.kind !== "wait" && model.turns.length < before) madeRoom++;
        continued += model.turns.filter(({ pieces }) => pieces.length > 2).length;
        assertEquals(kept.bytes, model.bytes(), "bytes of what a turn or a call needs");
        assertEquals(kept.turns, model.turns.length);
        assert(kept.bytes <= bounds.totalBytes && kept.turns <= bounds.totalTurns);
      }
      walk.sameTurns();
      for (const { draft } of model.running) draft.drop();
      time.advance(responseKeptMs + 2 * tickMs);
      assertEquals([kept.bytes, kept.turns, time.pending], [0, 0, 0], "nothing is left");
      walk.deadlines.close();
    }),
    { numRuns: 200, examples: [[crowded]] },
  );
  assert(continued > 0 && madeRoom > 0, `${continued} continued, ${madeRoom} made room`);
});

function openKept(given: Partial<KeptResponseBounds> = {}) {
  const time = new ManualTime(0);
  const deadlines = new Deadlines({ clock: time, timer: time });
  return { time, kept: new KeptResponses(time, deadlines, given) };
}

Deno.test("what a request continues is put before its own input, byte for byte", () => {
  const { kept } = openKept();
  kept.draft("a", { items: bytes('{"role":"user","content":"one"}') })
    ?.keep(responseOf("resp_1", '{"type":"message","n":1.0}'));
  const { items } = kept.find("a", "resp_1")!;
  const before = '[{"role":"user","content":"one"}, {"type":"message","n":1.0} ';
  for (
    const [input, added] of [
      ['"tw\\u006f"', ',{"role":"user","content":"tw\\u006f"}'],
      ['[ {"role":"user","content":2.50} ]', ', {"role":"user","content":2.50} '],
      ["[]", ""],
      ["null", ""],
      [undefined, ""],
    ] as const
  ) {
    const field = input === undefined ? "" : `"input":${input},`;
    const body = parseJsonBody(bytes(`{"model":"m",${field}"previous_response_id":"resp_1"}`));
    assertEquals(previousId(body), "resp_1");
    const whole = continuedBody(body, items);
    assertEquals(text(whole.bytes), `{"model":"m","input":${before}${added}]}`);
  }
  const wrong = parseJsonBody(bytes('{"input":7,"previous_response_id":"resp_1"}'));
  assertEquals(text(continuedBody(wrong, items).bytes), '{"input":7}');
});

Deno.test("a response without an id, or that is no JSON, leaves nothing", () => {
  const { kept } = openKept();
  for (const response of ['{"output":[]}', '{"id":"resp_1"}', "[", '{"id":1,"output":[]}']) {
    const draft = kept.draft("a", { items: bytes("1") });
    draft?.keep(bytes(response));
    draft?.drop();
    assertEquals([kept.bytes, kept.turns], [0, 0], response);
  }
});

Deno.test("a long conversation takes the memory of its content once, and is given back at any depth", () => {
  const { kept } = openKept({ accountTurns: 3 });
  let former: string | undefined;
  for (let turn = 0; turn < 5_000; turn++) {
    const draft = kept.draft("a", { former, items: bytes(`${turn}`) });
    former = `resp_${turn}`;
    draft?.keep(responseOf(former, `"${turn}"`));
  }
  assertEquals(kept.turns, 3);
  const { items } = kept.find("a", former!)!;
  const sum = joined(items).length;
  assert(kept.bytes < sum * 20, `${kept.bytes} bytes for ${sum} of items`);
  for (const turn of [4_997, 4_998, 4_999]) assert(kept.remove("a", `resp_${turn}`));
  assertEquals(kept.bytes, 0);
});
