/** Answers that plainly have the form of their style are not walked: whatever is to be repaired, named or refused is. */
import { assert, assertEquals } from "../support/assert.ts";
import { isJsonObject, type Json, type JsonObject } from "../../core/lib/json/json.ts";
import {
  answerShapes,
  fitOf,
  type Shape,
  shaped,
  UnknownNames,
} from "../../core/wire/stream/answer_shape.ts";
import { jsonMutations } from "../support/mutations.ts";
import { type Original, originals } from "./mutated/originals.ts";

/** The values of an answer that have a shape, each with it. */
function shapedValues({ style, whole, frames }: Original): (readonly [Shape, JsonObject])[] {
  const shapes = answerShapes[style];
  if (whole !== undefined) return [[shapes.whole, whole]];
  return (frames ?? []).flatMap(({ event: name, data }) => {
    const value: Json = data.startsWith("{") ? JSON.parse(data) : null;
    if (!isJsonObject(value)) return [];
    const type = typeof value["type"] === "string" ? value["type"] : name;
    const shape = shapes.events["every"] ?? shapes.events[type ?? ""];
    return shape === undefined ? [] : [[shape, value] as const];
  });
}

/** Whether a value is neither changed nor refused nor has anything to be named. */
function isPlain(shape: Shape, value: Json): boolean {
  const names = new UnknownNames();
  try {
    return shaped(shape, value, "answer", names) === value && names.take().length === 0;
  } catch {
    return false;
  }
}

Deno.test("what fits a shape is returned as it is, with nothing to be named", () => {
  let fitting = 0;
  let others = 0;
  for (const original of originals()) {
    for (const [shape, value] of shapedValues(original)) {
      const fits = fitOf(shape);
      for (const { at, apply } of jsonMutations(value)) {
        const mutated = apply();
        if (!fits(mutated)) others++;
        else {
          fitting++;
          assert(isPlain(shape, mutated), `${original.name} ${at}`);
        }
      }
    }
  }
  assert(fitting > 1_000 && others > 1_000, `${fitting} fit, ${others} do not`);
});

Deno.test("answers as the vendors write them fit", () => {
  const walked = originals().flatMap((original) =>
    shapedValues(original)
      .filter(([shape, value]) => isPlain(shape, value) && !fitOf(shape)(value))
      .map(([, value]) => `${original.name}: ${JSON.stringify(value)}`)
  );
  assertEquals(walked, []);
});
