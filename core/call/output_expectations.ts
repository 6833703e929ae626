/**
 * What the calls of a key to a model produced of late: how much of a stream's output is paid for in advance. A figure that
 * is too low costs a stream more extensions of its hold, one that is too high keeps money from other calls; neither lets
 * a call have more than is held for it.
 */
import type { Model } from "../catalog/catalog.ts";
import type { ApiKeyId } from "../ids.ts";
import { firstSliceBytes } from "./attempt.ts";

/** Tokens held at least, and where nothing is known: some paragraphs, which a fast provider sends in one piece. */
const leastTokens = firstSliceBytes;
/** What remains of a high figure with each call that stays below it: some dozens of calls forget it. */
const decay = 0.9;
/** Entries of one generation; there are two. */
const entriesPerGeneration = 5_000;
/** Tokens that a report may have beyond the bytes that came (end marks, call syntax) before output counts as hidden. */
const unseenTokens = 64;

/** The output of an ended call. */
export interface SeenOutput {
  /** As the provider reports them. */
  readonly outputTokens: number;
  /** Bytes of text, reasoning and tool arguments that came. */
  readonly outputBytes: number;
}

/** Whether an operator wrote of a route that its model reasons: providers show little or nothing of that. */
function isDeclaredReasoning({ routes }: Model): boolean {
  return routes.some(({ facts: { thinking, efforts } }) =>
    (thinking !== undefined && thinking !== "none") || (efforts?.length ?? 0) > 0
  );
}

/**
 * @example
 * ```ts
 * import { buildModel } from "../catalog/catalog.ts";
 * import { modelSchema } from "../catalog/schema.ts";
 * import { newId } from "../ids.ts";
 * import { OutputExpectations } from "./output_expectations.ts";
 * const price = { unit: "token", vndPerMtok: 1 };
 * const entry = { id: "m", kind: "chat", family: "f", price, routes: [{ provider: "p" }] };
 * const model = buildModel(modelSchema.parse(entry));
 * const expectations = new OutputExpectations();
 * const keyId = newId("apiKey", 0);
 * expectations.note(model, keyId, { outputTokens: 1_000, outputBytes: 4_000 });
 * if (expectations.tokens(model, keyId) !== 4_000) throw new Error("not learned");
 * expectations.note(model, keyId, { outputTokens: 5_000, outputBytes: 10 });
 * if (expectations.tokens(model, keyId) !== Infinity) throw new Error("hidden output cannot be expected");
 * ```
 */
export class OutputExpectations {
  #young = new Map<string, number>();
  #old = new Map<string, number>();
  /** Ids of models whose reports exceed what came. Bounded by the catalogue. */
  readonly #hiding = new Set<string>();
  readonly #declared = new WeakMap<Model, boolean>();

  /**
   * Tokens of output to hold money for when a stream begins. `Infinity` for a model that does not show all it produces:
   * its hold cannot grow with what is seen.
   */
  tokens(model: Model, keyId: ApiKeyId): number {
    if (this.#hidesOutput(model)) return Infinity;
    return Math.max(this.#find(entryName(model, keyId)) ?? 0, leastTokens);
  }

  /** Notes what an ended call produced. A token has at least a byte, so the larger figure bounds the tokens. */
  note(model: Model, keyId: ApiKeyId, { outputTokens, outputBytes }: SeenOutput): void {
    if (outputTokens > outputBytes + unseenTokens) this.#hiding.add(model.id);
    const name = entryName(model, keyId);
    const earlier = this.#find(name) ?? 0;
    const seen = Math.max(outputTokens, outputBytes);
    if (this.#young.size >= entriesPerGeneration && !this.#young.has(name)) {
      this.#old = this.#young;
      this.#young = new Map();
    }
    this.#young.set(name, Math.max(seen, Math.round(earlier * decay)));
  }

  #find(name: string): number | undefined {
    return this.#young.get(name) ?? this.#old.get(name);
  }

  #hidesOutput(model: Model): boolean {
    if (this.#hiding.has(model.id)) return true;
    let declared = this.#declared.get(model);
    if (declared === undefined) this.#declared.set(model, declared = isDeclaredReasoning(model));
    return declared;
  }
}

function entryName(model: Model, keyId: ApiKeyId): string {
  return `${model.id} ${keyId}`;
}
