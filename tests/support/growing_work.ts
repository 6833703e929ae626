/** Work that grows with its size, or with the square of it, for the test of the counter. */
import type { Cases } from "./steps.ts";

const items = Array.from({ length: 2_000 }, (_, i) => i);

export const linear: Cases = {
  "a loop": (count) => {
    let sum = 0;
    for (let i = 0; i < count; i++) sum += i;
    return sum;
  },
  "a callback": (count) => items.slice(0, count).map((item) => item + 1),
};

export const quadratic: Cases = {
  "a loop in a loop": (count) => {
    let sum = 0;
    for (let i = 0; i < count; i++) for (let j = 0; j < i; j++) sum += j;
    return sum;
  },
  "a search by the engine in a loop": (count) => {
    const seen: number[] = [];
    for (let i = 0; i < count; i++) if (!seen.includes(i)) seen.push(i);
    return seen;
  },
  "a text that is searched from its start in a loop": (count) => {
    const text = `${"x".repeat(count)}y`;
    let found = 0;
    for (let i = 0; i < count; i++) found += text.indexOf("y");
    return found;
  },
  "a copy for each item": (count) => {
    let all: number[] = [];
    for (let i = 0; i < count; i++) all = all.concat([i]);
    return all;
  },
};

export const cases: Cases = { ...linear, ...quadratic };
