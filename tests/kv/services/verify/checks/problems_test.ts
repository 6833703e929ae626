import { assertEquals } from "../../../../support/assert.ts";
import { type Problem, ProblemList } from "../../../../../kv/services/verify/checks/problems.ts";

function problems(count: number): Problem[] {
  return Array.from({ length: count }, (_, at) => ({ kind: "row", detail: `row ${at} is wrong` }));
}

Deno.test("a problem that two checks find is listed and counted once", () => {
  const list = new ProblemList();
  list.addAll(problems(3));
  list.addAll(problems(5));
  assertEquals([list.count, list.listed.map(({ detail }) => detail).join()], [
    5,
    "row 0 is wrong,row 1 is wrong,row 2 is wrong,row 3 is wrong,row 4 is wrong",
  ]);
});

Deno.test("of very many problems the first thousand are listed, and all are counted", () => {
  const list = new ProblemList();
  list.addAll(problems(250_000));
  assertEquals([list.count, list.listed.length], [250_000, 1_000]);
  assertEquals(list.listed[999]?.detail, "row 999 is wrong");
});

Deno.test("a list that is added to another brings those that it only counted", () => {
  const [all, some] = [new ProblemList(), new ProblemList()];
  some.addAll(problems(1_500));
  all.addAll(some);
  assertEquals([all.count, all.listed.length], [1_500, 1_000]);
});
