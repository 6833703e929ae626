/** The tables of the guide about what is kept are those of the program; `deno test … -- --update` writes them. */
import { assert, assertEquals } from "../../../support/assert.ts";
import {
  keptText,
  type RetentionKindName,
  retentionKindNames,
  retentionKinds,
} from "../../../../core/config/retention.ts";
import { dayMs, hourMs, minuteMs } from "../../../../core/lib/time/durations.ts";
import { rowKinds } from "../../../../kv/engine/schema/keys.ts";
import { rowLives } from "../../../../kv/services/retention/row_lives.ts";
import { kept } from "../../../support/golden.ts";

const page = new URL("../../../../docs/operations/retention.md", import.meta.url);

type Row = readonly string[];

const ignored = ["<!-- deno-fmt-ignore-start -->", "<!-- deno-fmt-ignore-end -->"] as const;

function table([head = [], ...rows]: readonly Row[]): string {
  const line = (cells: Row) => `| ${cells.join(" | ")} |`;
  const lines = [line(head), line(head.map(() => "---")), ...rows.map(line)];
  return [ignored[0], lines.join("\n"), ignored[1]].join("\n\n");
}

function settingRow(kind: RetentionKindName): Row {
  const { holds, variable, byDefault, least, reason } = retentionKinds[kind];
  const leastText = `${keptText(kind, least)}: ${reason}`;
  return [`\`${kind}\``, holds, `\`${variable}\``, keptText(kind, byDefault), leastText];
}

function durationText(ms: number): string {
  const [unitMs, unit] = ms >= 2 * dayMs
    ? [dayMs, "days"]
    : ms >= 2 * hourMs
    ? [hourMs, "hours"]
    : [minuteMs, "minutes"];
  return `${ms / unitMs} ${ms === unitMs ? unit.slice(0, -1) : unit}`;
}

/** How the rows end that have no setting: one line for each way, with the kinds. */
function otherRows(): Row[] {
  const endOf = (kind: typeof rowKinds[number]): string | undefined => {
    const life = rowLives[kind];
    switch (life.ends) {
      case "dropped":
        return undefined;
      case "expires":
        return `expire after ${durationText(life.afterMs)} at most`;
      case "replaced":
        return `end with ${life.with}`;
      case "never":
        return `stay: ${life.why}`;
    }
  };
  const order = (end: string) => ["expire", "end", "stay"].indexOf(end.split(/[ :]/)[0] ?? "");
  const groups = [...Map.groupBy(rowKinds, endOf)]
    .flatMap(([end, kinds]) => end === undefined ? [] : [{ end, kinds }]);
  return groups.sort((one, other) => order(one.end) - order(other.end))
    .map(({ end, kinds }) => [kinds.map((kind) => `\`${kind}\``).join(", "), end]);
}

const tables: Readonly<Record<string, readonly Row[]>> = {
  kinds: [
    ["kind", "rows", "setting", "default", "least"],
    ...retentionKindNames.map(settingRow),
  ],
  others: [["rows", "how they end"], ...otherRows()],
};

Deno.test("the guide has the kinds with a setting, and how all other rows end", async () => {
  const text = await Deno.readTextFile(page);
  let written = text;
  for (const [name, rows] of Object.entries(tables)) {
    const [begin, end] = [`<!-- begin of ${name} -->`, `<!-- end of ${name} -->`];
    const [from, to] = [written.indexOf(begin), written.indexOf(end)];
    assert(from >= 0 && to > from, `the marks of ${name}`);
    written = `${written.slice(0, from)}${begin}\n\n${table(rows)}\n\n${written.slice(to)}`;
  }
  assertEquals(await kept(page, written), written);
});
