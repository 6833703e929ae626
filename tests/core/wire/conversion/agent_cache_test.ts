/** What the marks of the gateway save an agent whose client sets none: sessions of 30 turns beside a model of the vendor's cache. */
import { assert, assertEquals } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import { isJsonObject, type Json, type JsonObject } from "../../../../core/lib/json/json.ts";
import { converted } from "./converting.ts";

const turns = 30;

/** Marks that a request may have, and blocks behind a mark among which the vendor looks for what it has cached. */
const maxMarks = 4;
const lookbackBlocks = 20;

/** A turn of an agent: it says something and calls tools, which answer. Sizes are in characters. */
interface Turn {
  readonly said: number;
  readonly results: readonly number[];
}

const sessions = fc.record({
  instructions: fc.integer({ min: 8_000, max: 40_000 }),
  tools: fc.integer({ min: 1, max: 20 }),
  task: fc.integer({ min: 20, max: 4_000 }),
  turns: fc.array(
    fc.record({
      said: fc.integer({ min: 0, max: 800 }),
      results: fc.array(fc.integer({ min: 0, max: 6_000 }), { minLength: 1, maxLength: 25 }),
    }),
    { minLength: turns, maxLength: turns },
  ),
});

type Session = typeof sessions extends fc.Arbitrary<infer Value> ? Value : never;

let words = 0;
/** A text that no other place has. */
function text(chars: number): string {
  return `${words++} `.padEnd(chars, "lorem ipsum ");
}

const parameters = { type: "object", properties: { path: { type: "string" } } };

/** The parts of a session in a style: what comes before the first turn, and each turn, with the members around them. */
interface Written {
  readonly rest: JsonObject;
  readonly member: "messages" | "input" | "contents";
  readonly first: readonly Json[];
  readonly turns: readonly (readonly Json[])[];
}

function described(tools: number): { readonly name: string; readonly description: string }[] {
  return Array.from({ length: tools }, (_, i) => ({ name: `tool_${i}`, description: text(600) }));
}

function each(session: Session, write: (turn: Turn, calls: readonly string[]) => readonly Json[]) {
  return session.turns.map((turn, number) =>
    write(turn, turn.results.map((_, i) => `call_${number}_${i}`))
  );
}

const args = '{"path":"a"}';

const styles: Readonly<Record<"chat" | "responses" | "gemini", (session: Session) => Written>> = {
  chat: (session) => ({
    rest: {
      model: "m",
      tools: described(session.tools).map((tool) => ({
        type: "function",
        function: { ...tool, parameters },
      })),
    },
    member: "messages",
    first: [
      { role: "system", content: text(session.instructions) },
      { role: "user", content: text(session.task) },
    ],
    turns: each(session, ({ said, results }, calls) => [
      {
        role: "assistant",
        content: said === 0 ? null : text(said),
        tool_calls: calls.map((id) => ({
          id,
          type: "function",
          function: { name: "tool_0", arguments: args },
        })),
      },
      ...calls.map((id, i) => ({
        role: "tool",
        tool_call_id: id,
        content: text(results[i] ?? 0),
      })),
    ]),
  }),
  responses: (session) => ({
    rest: {
      model: "m",
      instructions: text(session.instructions),
      tools: described(session.tools).map((tool) => ({
        type: "function",
        ...tool,
        parameters,
        strict: false,
      })),
    },
    member: "input",
    first: [{ role: "user", content: text(session.task) }],
    turns: each(session, ({ said, results }, calls) => [
      ...(said === 0 ? [] : [{ role: "assistant", content: text(said) }]),
      ...calls.map((call_id) => ({
        type: "function_call",
        call_id,
        name: "tool_0",
        arguments: args,
      })),
      ...calls.map((call_id, i) => ({
        type: "function_call_output",
        call_id,
        output: text(results[i] ?? 0),
      })),
    ]),
  }),
  gemini: (session) => ({
    rest: {
      model: "m",
      systemInstruction: { parts: [{ text: text(session.instructions) }] },
      tools: [{
        functionDeclarations: described(session.tools).map((tool) => ({
          ...tool,
          parametersJsonSchema: parameters,
        })),
      }],
    },
    member: "contents",
    first: [{ role: "user", parts: [{ text: text(session.task) }] }],
    turns: each(session, ({ said, results }, calls) => [
      {
        role: "model",
        parts: [
          ...(said === 0 ? [] : [{ text: text(said) }]),
          ...calls.map((id) => ({ functionCall: { id, name: "tool_0", args: { path: "a" } } })),
        ],
      },
      {
        role: "user",
        parts: calls.map((id, i) => ({
          functionResponse: { id, name: "tool_0", response: { output: text(results[i] ?? 0) } },
        })),
      },
    ]),
  }),
};

/** A block of a prompt: its text as the vendor hashes it, without its mark. */
interface Block {
  readonly text: string;
  readonly isMarked: boolean;
}

/** The blocks of a Messages request in the order of its cache: tools, instructions, messages. */
function blocksOf({ tools, system, messages }: JsonObject): Block[] {
  const lists = [tools, system, ...(Array.isArray(messages) ? messages.map(contentOf) : [])];
  return lists.flatMap((list) => (Array.isArray(list) ? list : [list])).map((block) => {
    // A text alone is the same to the vendor as one block of it.
    const whole = isJsonObject(block) ? block : { type: "text", text: block ?? "" };
    const { cache_control: mark, ...rest } = whole;
    return { text: JSON.stringify(rest), isMarked: mark !== undefined };
  });
}

function contentOf(message: Json): Json {
  return isJsonObject(message) ? message["content"] ?? "" : "";
}

/**
 * The vendor's cache: the prompt up to each mark is kept, and of a request the longest part that is kept is read, which
 * ends at a mark or a few blocks before one. https://platform.claude.com/docs/en/build-with-claude/prompt-caching
 */
class VendorCache {
  readonly #kept = new Set<string>();

  /** Returns how many characters of the request are read from the cache, and how many it has. */
  read(blocks: readonly Block[]): { readonly read: number; readonly all: number } {
    const prefixes: string[] = [];
    let prefix = "";
    for (const block of blocks) prefixes.push(prefix += `${block.text}\n`);
    const marks = blocks.flatMap(({ isMarked }, i) => isMarked ? [i] : []);
    assert(marks.length <= maxMarks, `${marks.length} marks`);
    let read = 0;
    for (const mark of marks) {
      for (let i = mark; i >= Math.max(0, mark - lookbackBlocks); i--) {
        if (this.#kept.has(prefixes[i] ?? "")) read = Math.max(read, prefixes[i]?.length ?? 0);
      }
    }
    for (const mark of marks) this.#kept.add(prefixes[mark] ?? "");
    return { read, all: prefix.length };
  }
}

for (const [style, write] of Object.entries(styles)) {
  if (style !== "chat" && style !== "responses" && style !== "gemini") continue;
  Deno.test(`of what an agent sends in the style ${style}, all that it has sent before is read from the cache`, () => {
    let [read, all] = [0, 0];
    fc.assert(
      fc.property(sessions, (session) => {
        const { rest, member, first, turns } = write(session);
        const cache = new VendorCache();
        let sentBefore = 0;
        for (let turn = 0; turn < turns.length; turn++) {
          const sent = { ...rest, [member]: [...first, ...turns.slice(0, turn).flat()] };
          const { body } = converted(style, "messages", sent);
          const found = cache.read(blocksOf(body));
          if (turn > 0) {
            read += found.read;
            all += found.all;
            assertEquals(found.read, sentBefore, `turn ${turn}`);
          }
          sentBefore = found.all;
        }
      }),
      { numRuns: 6 },
    );
    assert(read >= 0.8 * all, `${Math.round(100 * read / all)} % are read`);
  });
}
