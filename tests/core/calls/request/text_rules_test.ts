/** Rules find and mask the text of requests of every style, wherever it stands, and change no other byte. */
import { assert, assertEquals, assertRejects } from "../../../support/assert.ts";
import * as fc from "../../../support/property.ts";
import { writeForm } from "../../../../core/calls/body/multipart.ts";
import { type TextRule, withTextRules } from "../../../../core/calls/request/text_rules.ts";

const patterns = { card: "[0-9]{4}-[0-9]{4}", word: "(?i)\\bsecret\\b", wide: "[đ😀]+" };
const expressions = { card: /[0-9]{4}-[0-9]{4}/gu, word: /\bsecret\b/giu, wide: /[đ😀]+/gu };
type Name = keyof typeof patterns;

function ruleOf(name: Name, action: TextRule["action"]): TextRule {
  return { name, action, pattern: patterns[name] };
}

const text = fc.array(
  fc.constantFrom("1234-5678", "Secret", "secrets", "đ", "😀", "\n", '"', "\\", " ", "a", "9", "/"),
  { maxLength: 6 },
).map((parts) => parts.join(""));

/** A place for a text that rules read, and one for a text that they must not touch. */
type Mark = { readonly text: number } | { readonly other: number };
type Shape = string | number | boolean | null | Mark | readonly Shape[] | {
  readonly [name: string]: Shape;
};

const t = (at: number): Mark => ({ text: at });
const o = (at: number): Mark => ({ other: at });

/** Requests of each style with texts in every place where there is one. */
const requests: Readonly<Record<string, Shape>> = {
  chat: {
    model: o(0),
    messages: [
      { role: "system", content: t(0) },
      {
        role: "user",
        name: o(1),
        content: [
          { type: "text", text: t(1) },
          { type: "image_url", image_url: { url: o(2) } },
        ],
      },
      {
        role: "assistant",
        tool_calls: [
          { id: o(3), type: "function", function: { name: o(4), arguments: t(2) } },
        ],
      },
      { role: "tool", tool_call_id: o(3), content: t(3) },
    ],
    metadata: { note: o(5) },
  },
  messages: {
    model: o(0),
    system: [{ type: "text", text: t(0), cache_control: { type: "ephemeral" } }],
    messages: [
      { role: "user", content: t(1) },
      {
        role: "assistant",
        content: [
          { type: "thinking", thinking: o(1), signature: o(2) },
          { type: "tool_use", id: o(3), name: o(4), input: { id: t(2), deep: [{ type: t(3) }] } },
        ],
      },
      {
        role: "user",
        content: [
          { type: "tool_result", tool_use_id: o(3), content: [{ type: "text", text: t(4) }] },
          { type: "document", title: t(5), source: { type: "text", media_type: o(5), data: t(6) } },
          { type: "image", source: { data: o(6), type: "base64", media_type: o(7) } },
        ],
      },
    ],
  },
  responses: {
    model: o(0),
    instructions: t(0),
    input: [
      {
        role: "user",
        content: [{ type: "input_text", text: t(1) }, { type: "input_image", image_url: o(1) }],
      },
      { type: "function_call", id: o(2), call_id: o(3), name: o(4), arguments: t(2) },
      { type: "function_call_output", call_id: o(3), output: t(3) },
      { type: "reasoning", id: o(5), summary: [], encrypted_content: o(6) },
    ],
    user: o(7),
  },
  gemini: {
    systemInstruction: { parts: [{ text: t(0) }] },
    contents: [
      { role: "user", parts: [{ text: t(1) }, { inlineData: { mimeType: o(0), data: o(1) } }] },
      {
        role: "model",
        parts: [{ functionCall: { name: o(2), args: { name: t(2) } }, thoughtSignature: o(3) }],
      },
      { role: "user", parts: [{ functionResponse: { name: o(2), response: { url: t(3) } } }] },
    ],
    generationConfig: { stopSequences: [o(4)] },
  },
  embeddings: { model: o(0), input: [t(0), t(1)], user: o(1) },
  rerank: { model: o(0), query: t(0), documents: [t(1), { text: t(2) }] },
};

/** Writes each UTF-16 unit of a text by itself, some as an escape. */
function unitsOf(text: string, escapes: readonly boolean[]): string[] {
  const hex = (unit: number) => `\\u${unit.toString(16).padStart(4, "0")}`;
  const units = Array.from({ length: text.length }, (_, at) => text[at] ?? "");
  return units.map((unit, at) => {
    const isHalf = /[\ud800-\udfff]/.test(unit);
    const isEscaped = escapes[(isHalf ? 0 : at) % escapes.length] === true;
    if (isEscaped) return hex(unit.charCodeAt(0));
    return isHalf ? unit : JSON.stringify(unit).slice(1, -1);
  });
}

interface Written {
  readonly texts: readonly string[];
  readonly escapes: readonly boolean[];
  readonly space: string;
  readonly names: readonly Name[];
}

function isMark(shape: Shape, kind: "text" | "other"): shape is Mark {
  return typeof shape === "object" && shape !== null && Object.keys(shape).join() === kind &&
    typeof Object.values(shape)[0] === "number";
}

/** Masks what rules match in a text, of which each unit is written by itself. */
function mask(units: string[], text: string, names: readonly Name[]): void {
  for (const name of names) {
    for (const match of text.matchAll(expressions[name])) {
      units.fill("", match.index, match.index + match[0].length);
      units[match.index] = `[${name}]`;
    }
  }
}

/** Writes a request, with what rules match in its texts masked or not. */
function written(shape: Shape, as: Written, isMasked: boolean): string {
  if (isMark(shape, "text") || isMark(shape, "other")) {
    const text = as.texts[Object.values(shape)[0]! % as.texts.length]!;
    const units = unitsOf(text, as.escapes);
    if (isMasked && "text" in shape) mask(units, text, as.names);
    return `"${units.join("")}"`;
  }
  const { space } = as;
  if (Array.isArray(shape)) {
    return `[${space}${shape.map((one) => written(one, as, isMasked)).join(`,${space}`)}]`;
  }
  if (typeof shape !== "object" || shape === null) return JSON.stringify(shape);
  const members = Object.entries(shape).map(([name, one]) =>
    `"${name}"${space}:${written(one, as, isMasked)}`
  );
  return `{${members.join(`,${space}`)}${space}}`;
}

const encoder = new TextEncoder();
const decoder = new TextDecoder();

Deno.test("what rules match is masked in every text of every style, and no other byte changes", async () => {
  await fc.assert(
    fc.asyncProperty(
      fc.record({
        texts: fc.array(text, { minLength: 8, maxLength: 8 }),
        escapes: fc.array(fc.boolean(), { minLength: 1, maxLength: 5 }),
        space: fc.constantFrom("", " ", "\n\t"),
        names: fc.uniqueArray(fc.constantFrom<Name>("card", "word", "wide"), { minLength: 1 }),
      }),
      async (as) => {
        const rules = as.names.map((name) => ruleOf(name, "mask"));
        for (const [style, shape] of Object.entries(requests)) {
          const sent = written(shape, as, false);
          const expected = written(shape, as, true);
          const { bytes, masked } = await withTextRules(encoder.encode(sent), rules);
          assertEquals(decoder.decode(bytes), expected, style);
          assertEquals(masked.length === 0, sent === expected);
          const refusing = as.names.map((name) => ruleOf(name, "refuse"));
          const refuse = () => withTextRules(encoder.encode(sent), refusing);
          if (sent === expected) assertEquals(decoder.decode((await refuse()).bytes), sent);
          else await assertRejects(refuse, Error, "refuses this request");
        }
      },
    ),
    { numRuns: 300 },
  );
});

Deno.test("of a form, rules read the fields of the prompt, and change no other byte", async () => {
  const boundary = "a boundary of 24 letters";
  const names = Object.keys(patterns) as Name[];
  await fc.assert(
    fc.asyncProperty(text, text, async (prompt, other) => {
      const form = (masked: string) =>
        writeForm([
          { name: "model", body: other },
          { name: "prompt", body: masked },
          { name: "prompt", body: other, fileName: "prompt.txt" },
          { name: "user", body: other },
        ], boundary).body;
      const units = prompt.split("");
      mask(units, prompt, names);
      const expected = units.join("");
      const rules = names.map((name) => ruleOf(name, "mask"));
      const { bytes, masked } = await withTextRules(form(prompt), rules, boundary);
      assertEquals(bytes, form(expected));
      assertEquals(masked.length === 0, prompt === expected);
    }),
    { numRuns: 200 },
  );
  const latin = new Uint8Array([0xe9, ...encoder.encode(" 1234-5678")]);
  const sent = writeForm([{ name: "prompt", body: latin }], boundary).body;
  const { bytes } = await withTextRules(sent, [ruleOf("card", "mask")], boundary);
  assertEquals(bytes, writeForm([{ name: "prompt", body: "\ufffd [card]" }], boundary).body);
});

Deno.test("masks that overlap are one, and rules that need too many steps refuse", async () => {
  const rule = (name: string, pattern: string): TextRule => ({ name, action: "mask", pattern });
  const sent = encoder.encode('{"input":"abcdef"}');
  const { bytes, masked } = await withTextRules(sent, [rule("b", "cde"), rule("a", "bcd")]);
  assertEquals(decoder.decode(bytes), '{"input":"a[a]f"}');
  assertEquals(masked.toSorted(), ["a", "b"]);
  const long = encoder.encode(JSON.stringify({ input: "a".repeat(200_000) }));
  const heavy = [rule("heavy", "(a{1,100}){1,4}b")];
  const problem = "The rule heavy cannot be checked on a request of this size";
  await assertRejects(() => withTextRules(long, heavy), Error, problem);
});

Deno.test("more patterns than a process keeps are read again, and find the same", async () => {
  const sent = encoder.encode('{"input":"a1 a999"}');
  for (let round = 0; round < 2; round++) {
    for (let i = 0; i < 300; i++) {
      const rule = { name: "n", action: "mask", pattern: `a${i}\\b` } as const;
      const expected = i === 1 ? '{"input":"[n] a999"}' : '{"input":"a1 a999"}';
      assertEquals(decoder.decode((await withTextRules(sent, [rule])).bytes), expected);
    }
  }
});

Deno.test("rules on a large request let others have their turn, and find what they find in a small one", async () => {
  const rules: TextRule[] = [
    { name: "mail", action: "mask", pattern: "[a-z0-9]+@[a-z]+" },
    { name: "long", action: "mask", pattern: "(?i)(x[a-z]{1,40}){1,9}#" },
  ];
  const part = "ab1cd2 xy@example xABCxyz# ";
  const inSmall = await withTextRules(encoder.encode(JSON.stringify({ input: part })), rules);
  const { input } = JSON.parse(decoder.decode(inSmall.bytes));
  let turns = 0;
  const times = 20_000;
  const sent = encoder.encode(JSON.stringify({ input: part.repeat(times) }));
  const { bytes } = await withTextRules(
    sent,
    rules,
    undefined,
    () => Promise.resolve(void turns++),
  );
  assertEquals(JSON.parse(decoder.decode(bytes)).input, input.repeat(times));
  assert(turns > 3, `${turns} turns`);
});
