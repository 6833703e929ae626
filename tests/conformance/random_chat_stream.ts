/**
 * Chat streams as real servers send them: the same content under any mix of their habits.
 *
 * See docs/internals/WIRE_FORMATS.md#chat-stream-deviations.
 */
import * as fc from "../support/property.ts";
import type { Answer, AnswerBlock } from "../../core/wire/conversation/mod.ts";
import type { JsonObject } from "../../core/lib/json/json.ts";
import { noTokens } from "../../core/billing/tokens/token_bounds.ts";

/** The deviations of one server. */
export interface Habits {
  /** First index of a tool call: one server leaks its block index. */
  readonly firstIndex: number;
  /** Id, type and name come with every piece of a call. */
  readonly repeatsHead: boolean;
  /** A call comes whole in one piece. */
  readonly wholeCalls: boolean;
  /** The first piece has `arguments: null`. */
  readonly nullArguments: boolean;
  /** Pieces of different calls alternate. */
  readonly interleaves: boolean;
  /** The role comes with every delta. */
  readonly repeatsRole: boolean;
  readonly usage: "own chunk" | "with the finish" | "every chunk" | "finish said twice";
  readonly reasoning: "reasoning_content" | "reasoning";
  readonly comments: boolean;
  /** A first chunk without choices. */
  readonly emptyFirst: boolean;
  /** Content in the finishing chunk. */
  readonly finishesWithText: boolean;
  readonly done: boolean;
  readonly lineEnd: "\n" | "\r\n";
}

export const arbitraryHabits: fc.Arbitrary<Habits> = fc.record({
  firstIndex: fc.constantFrom(0, 1, 5),
  repeatsHead: fc.boolean(),
  wholeCalls: fc.boolean(),
  nullArguments: fc.boolean(),
  interleaves: fc.boolean(),
  repeatsRole: fc.boolean(),
  usage: fc.constantFrom("own chunk", "with the finish", "every chunk", "finish said twice"),
  reasoning: fc.constantFrom("reasoning_content", "reasoning"),
  comments: fc.boolean(),
  emptyFirst: fc.boolean(),
  finishesWithText: fc.boolean(),
  done: fc.boolean(),
  lineEnd: fc.constantFrom("\n", "\r\n"),
});

const base = { id: "chatcmpl-up", object: "chat.completion.chunk", created: 1, model: "up" };

/** Returns the stream, and the same content as a whole answer. */
export function chatStream(
  answer: Answer,
  habits: Habits,
  cuts: readonly number[],
): { readonly stream: Uint8Array; readonly whole: JsonObject } {
  const usage = usageOf(answer);
  const deltas = contentDeltas(answer, habits, cuts);
  const calls = answer.blocks.filter((block) => block.type === "tool_call");
  const finish = answer.stop.reason === "length"
    ? "length"
    : calls.length > 0
    ? "tool_calls"
    : "stop";
  const last = deltas.at(-1);
  const endsInText = habits.finishesWithText && last?.["content"] !== undefined;
  const frames: JsonObject[] = habits.emptyFirst
    ? [{ ...base, id: "", model: "", choices: [] }]
    : [];
  frames.push(chunk({ role: "assistant", content: "" }, null));
  for (const delta of endsInText ? deltas.slice(0, -1) : deltas) {
    frames.push(chunk(habits.repeatsRole ? { role: "assistant", ...delta } : delta, null));
  }
  frames.push(chunk(endsInText && last !== undefined ? last : {}, finish));
  addUsage(frames, habits, usage, finish);
  const lines = frames.map((frame) => `data: ${JSON.stringify(frame)}`);
  if (habits.comments) lines.splice(1, 0, ": PROCESSING");
  if (habits.done) lines.push("data: [DONE]");
  const text = lines.map((line) => line + habits.lineEnd + habits.lineEnd).join("");
  return {
    stream: new TextEncoder().encode(text),
    whole: wholeAnswer(answer, habits, finish, usage),
  };
}

function chunk(delta: JsonObject, finish_reason: string | null): JsonObject {
  return { ...base, choices: [{ index: 0, delta, finish_reason }] };
}

function usageOf({ usage = noTokens }: Answer): JsonObject {
  const prompt = usage.input + usage.cacheRead + usage.cacheWrite;
  return {
    prompt_tokens: prompt,
    completion_tokens: usage.output,
    total_tokens: prompt + usage.output,
    prompt_tokens_details: { cached_tokens: usage.cacheRead, cache_write_tokens: usage.cacheWrite },
    completion_tokens_details: { reasoning_tokens: usage.reasoning },
  };
}

function addUsage(frames: JsonObject[], habits: Habits, usage: JsonObject, finish: string): void {
  const last = frames.at(-1);
  switch (habits.usage) {
    case "own chunk":
      frames.push({ ...base, choices: [], usage });
      return;
    case "with the finish":
      if (last !== undefined) last["usage"] = usage;
      return;
    case "every chunk":
      frames.forEach((frame, i) => {
        frame["usage"] = i === frames.length - 1
          ? usage
          : { ...usage, completion_tokens: 1, total_tokens: null };
      });
      return;
    case "finish said twice":
      frames.push({ ...chunk({ role: "assistant", content: "" }, finish), usage });
  }
}

function textOf(blocks: readonly AnswerBlock[], type: "text" | "reasoning"): string {
  return blocks.map((block) => block.type === type ? block.text : "").join("");
}

/** Chat has one reasoning, one text and the calls, in this order. */
function contentDeltas(answer: Answer, habits: Habits, cuts: readonly number[]): JsonObject[] {
  const deltas: JsonObject[] = [];
  for (const piece of cut(textOf(answer.blocks, "reasoning"), cuts)) {
    deltas.push({ [habits.reasoning]: piece, content: habits.comments ? "" : null });
  }
  for (const piece of cut(textOf(answer.blocks, "text"), cuts)) deltas.push({ content: piece });
  const lanes = answer.blocks.filter((block) => block.type === "tool_call")
    .map((call, i) => callDeltas(call, habits.firstIndex + i, habits, cuts));
  if (!habits.interleaves) return [...deltas, ...lanes.flat()];
  for (let row = 0; lanes.some((lane) => row < lane.length); row++) {
    for (const lane of lanes) {
      const delta = lane[row];
      if (delta !== undefined) deltas.push(delta);
    }
  }
  return deltas;
}

function callDeltas(
  call: AnswerBlock & { readonly type: "tool_call" },
  index: number,
  habits: Habits,
  cuts: readonly number[],
): JsonObject[] {
  const text = call.input.kind === "object" ? "" : call.input.text;
  const { id, name } = call;
  const head = { index, id, type: "function" };
  if (habits.wholeCalls) {
    return [{ tool_calls: [{ ...head, function: { name, arguments: text } }] }];
  }
  const first = { name, arguments: habits.nullArguments ? null : "" };
  return [
    { tool_calls: [{ ...head, function: first }] },
    ...cut(text, cuts).map((piece): JsonObject => ({
      tool_calls: [
        habits.repeatsHead
          ? { ...head, function: { name, arguments: piece } }
          : { index, function: { arguments: piece } },
      ],
    })),
  ];
}

function wholeAnswer(
  answer: Answer,
  habits: Habits,
  finish_reason: string,
  usage: JsonObject,
): JsonObject {
  const reasoning = textOf(answer.blocks, "reasoning");
  const calls = answer.blocks.flatMap((block): JsonObject[] =>
    block.type === "tool_call" && block.input.kind !== "object"
      ? [{
        id: block.id,
        type: "function",
        function: { name: block.name, arguments: block.input.text },
      }]
      : []
  );
  const message: JsonObject = {
    role: "assistant",
    content: textOf(answer.blocks, "text") || null,
    ...(reasoning === "" ? {} : { [habits.reasoning]: reasoning }),
    ...(calls.length === 0 ? {} : { tool_calls: calls }),
  };
  return {
    ...base,
    object: "chat.completion",
    choices: [{ index: 0, message, finish_reason }],
    usage,
  };
}

function cut(value: string, cuts: readonly number[]): string[] {
  const places = [...new Set(cuts.map((place) => place % (value.length + 1)))].sort((a, b) =>
    a - b
  );
  const pieces: string[] = [];
  let from = 0;
  for (const place of [...places, value.length]) {
    if (place > from) pieces.push(value.slice(from, place));
    from = Math.max(from, place);
  }
  return pieces;
}
