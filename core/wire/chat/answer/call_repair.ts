/**
 * Repairs tool calls on native routes where a server breaks the contract of the style: parallel calls that all have the
 * same `index` or none, which clients join to one call that cannot be read, and arguments that are objects, which clients
 * add to a string.
 */
import { idText, isJsonObject, type Json, type JsonObject } from "../../../lib/json/json.ts";
import { stringifyExactly } from "../../../lib/runtime/built_ins.ts";
import { maxToolCallsPerAnswer } from "../../contract/limits.ts";

/** A call of the stream, as its deltas identify it. */
interface Call {
  readonly index: number;
  id: string;
  name: string;
}

/** The calls of one choice. */
class ChoiceCalls {
  /** The current call of each index that the server uses, or of each id where it uses none. */
  readonly #byKey = new Map<string, Call>();
  readonly #used = new Set<number>();
  #next = 0;
  #last: Call | undefined;

  /** Returns the index that a delta should have; `undefined` beyond the bound on calls. */
  indexOf(delta: JsonObject): number | undefined {
    const { index } = delta;
    const given = typeof index === "number" && Number.isSafeInteger(index) && index >= 0
      ? index
      : undefined;
    const id = idText(delta["id"]) ?? "";
    const holder = delta["function"] ?? delta["custom"];
    const said = isJsonObject(holder) ? holder["name"] : undefined;
    const name = typeof said === "string" ? said : "";
    const key = given === undefined ? `id ${id}` : `index ${given}`;
    const known = given === undefined && id === "" && name === ""
      ? this.#last
      : this.#byKey.get(key);
    const call = known === undefined || isAnother(known, id, name)
      ? this.#begin(key, given, { id, name })
      : known;
    if (call === undefined) return undefined;
    if (call.id === "") call.id = id;
    if (call.name === "") call.name = name;
    this.#last = call;
    return call.index;
  }

  #begin(
    key: string,
    given: number | undefined,
    { id, name }: { readonly id: string; readonly name: string },
  ): Call | undefined {
    if (this.#used.size >= maxToolCallsPerAnswer) return undefined;
    const index = given === undefined || this.#used.has(given) ? this.#next : given;
    this.#used.add(index);
    this.#next = Math.max(this.#next, index + 1);
    const call = { index, id, name };
    this.#byKey.set(key, call);
    return call;
  }
}

/** Whether a delta begins another call than the one that has its index. Repeated ids and names do not. */
function isAnother(known: Call, id: string, name: string): boolean {
  if (name === "") return false;
  const hasOtherId = id !== "" && known.id !== "" && id !== known.id;
  const hasOtherName = id === "" && known.name !== "" && name !== known.name;
  return hasOtherId || hasOtherName;
}

/** Follows the calls of one stream. */
export class CallRepair {
  readonly #choices = new Map<number, ChoiceCalls>();

  /**
   * Reads the `tool_calls` of one delta; returns the index that each should have, or `undefined` if nothing is wrong.
   *
   * @example
   * ```ts
   * import { CallRepair } from "./call_repair.ts";
   * const repair = new CallRepair();
   * const call = (id: string) => ({ index: 0, id, type: "function", function: { name: "f", arguments: "{}" } });
   * if (repair.indexes([call("a")], 0) !== undefined) throw new Error("nothing is wrong");
   * if (repair.indexes([call("b")], 0)?.join() !== "1") throw new Error("two calls with one index");
   * ```
   */
  indexes(calls: Json, choice: number): (number | undefined)[] | undefined {
    if (!Array.isArray(calls)) return undefined;
    let choiceCalls = this.#choices.get(choice);
    if (choiceCalls === undefined) {
      choiceCalls = new ChoiceCalls();
      this.#choices.set(choice, choiceCalls);
    }
    let isBroken = false;
    const indexes: (number | undefined)[] = [];
    for (const call of calls) {
      const index = isJsonObject(call) ? choiceCalls.indexOf(call) : undefined;
      indexes.push(index);
      if (!isJsonObject(call)) continue;
      isBroken ||= (index !== undefined && call["index"] !== index) || hasObjectArguments(call);
    }
    return isBroken ? indexes : undefined;
  }
}

function hasObjectArguments(call: JsonObject): boolean {
  const holder = call["function"];
  return isJsonObject(holder) && isJsonObject(holder["arguments"]);
}

/** Whether a whole answer has calls whose arguments are objects. */
export function needsCallRepair({ choices }: JsonObject): boolean {
  return Array.isArray(choices) && choices.some((choice) => {
    const message = isJsonObject(choice) ? choice["message"] : undefined;
    const calls = isJsonObject(message) ? message["tool_calls"] : undefined;
    return Array.isArray(calls) &&
      calls.some((call) => isJsonObject(call) && hasObjectArguments(call));
  });
}

/** Writes the arguments of calls as text, and their indexes as they should be; absent: they stay as they are. */
export function repairedCalls(calls: Json, indexes: readonly (number | undefined)[] = []): Json {
  if (!Array.isArray(calls)) return calls;
  return calls.map((call, place) => {
    if (!isJsonObject(call)) return call;
    const holder = call["function"];
    const index = indexes[place];
    const args = isJsonObject(holder) ? holder["arguments"] : undefined;
    return {
      ...call,
      ...(index === undefined ? {} : { index }),
      ...(isJsonObject(holder) && isJsonObject(args)
        ? { function: { ...holder, arguments: stringifyExactly(args) } }
        : {}),
    };
  });
}

/** Writes the arguments of all calls of a whole answer as text. */
export function withTextArguments(answer: JsonObject): JsonObject {
  const { choices } = answer;
  if (!Array.isArray(choices)) return answer;
  return {
    ...answer,
    choices: choices.map((choice) => {
      const message = isJsonObject(choice) ? choice["message"] : undefined;
      if (!isJsonObject(choice) || !isJsonObject(message)) return choice;
      const { tool_calls: calls } = message;
      if (calls === undefined) return choice;
      return { ...choice, message: { ...message, tool_calls: repairedCalls(calls) } };
    }),
  };
}
