/** What docs/operations/archive.md promises to those who read the archive by SQL, and calls to read. */
import { assert, assertEquals } from "../../../support/assert.ts";
import { newId } from "../../../../core/lib/ids/ids.ts";
import { dayMs } from "../../../../core/lib/time/durations.ts";
import { vietnamDay, vietnamDayStartMs } from "../../../../core/lib/time/vietnam_time.ts";
import { refundCall } from "../../../../kv/money/ledger/refunds.ts";
import type { ReceiptArchive } from "../../../../kv/money/archive/receipt_archive.ts";
import { moveDays } from "../../../../kv/services/archive/move_days.ts";
import { readChain } from "../../../../kv/services/verify/days/checkpoint_chain.ts";
import { sourceText } from "../../../repository/source_files.ts";
import { BooksWorld, problemLines } from "../../../support/worlds/books_world.ts";
import { costedCatalog, makeCostedCalls } from "../../../support/worlds/costed_calls.ts";
import { draftOf, mustReserve, testKeyId } from "../../../support/worlds/money_world.ts";

/** The engines, as the page names them in its headings and columns. */
export type Engine = "PostgreSQL" | "SQLite";

/** The views, as headings of the page. */
export const views = ["receipts_v1", "ledger_v1", "day_sums_v1"] as const;

/** Sections of the page by their headings. */
function sectionsOf(page: string): ReadonlyMap<string, string> {
  return new Map(
    page.split(/^#{2,3} /mu).map((section) => {
      const [heading = "", ...lines] = section.split("\n");
      return [heading, lines.join("\n")];
    }),
  );
}

const sections = sectionsOf(sourceText("docs/operations/archive.md"));

/** The columns that the page has for a view, in their order. */
export function documentedColumns(view: typeof views[number], engine: Engine): string[] {
  const rows = sections.get(view)?.split("\n").filter((line) => line.startsWith("| `")) ?? [];
  assert(rows.length > 0, `the page has the columns of ${view}`);
  const at = engine === "PostgreSQL" ? 1 : 2;
  return rows.map((row) => row.split("|")[at]?.replaceAll("`", "").trim() ?? "");
}

/** A day within the week and the month that the statements of the page name. */
const pageDay = "2026-10-18";

/** The statements of the page for an engine, in their order, about another day than its own. */
export function documentedStatements(engine: Engine, day = pageDay): string[] {
  const laterMs = vietnamDayStartMs(day) - vietnamDayStartMs(pageDay);
  const texts = [...sections].filter(([heading]) => heading.startsWith(`${engine}:`))
    .flatMap(([, text]) => [...text.matchAll(/^```sql\n([^]*?)^```/gmu)].map(([, sql]) => sql!))
    .map((sql) =>
      sql.replaceAll(
        /'(\d{4}-\d\d-\d\d) 00:00\+07'/gu,
        (_, bound: string) => `'${vietnamDay(vietnamDayStartMs(bound) + laterMs)} 00:00+07'`,
      )
    );
  const statements = texts.flatMap((text) => text.split(/;\n/u).map((one) => one.trim()))
    .filter((one) => one !== "");
  assert(statements.length > 0, `the page has statements for ${engine}`);
  return statements;
}

/** Twelve with costs, and a stream, which is given back. */
const seededCalls = 13;

/** What {@linkcode archiveCalls} has archived. */
interface ArchivedCalls {
  /** The day of the last call; the others are of the same month. */
  readonly day: string;
  /** What the customer has paid, less the refund. */
  readonly paidMicroVnd: bigint;
}

/** Archives calls of one month, with all that the statements of the page ask for. */
export async function archiveCalls(archive: ReceiptArchive): Promise<ArchivedCalls> {
  await using world = await BooksWorld.open();
  while (!vietnamDay(world.nowMs).endsWith("-18")) world.nextDay();
  const { kv, wallet, ann, nowMs, masterKeys } = world;
  await world.topUp(ann, 10n ** 12n);
  const catalog = costedCatalog();
  const calls = { wallet, catalog, accountId: ann, keyId: testKeyId, nowMs, calls: 12 };
  await makeCostedCalls(calls);
  const stream = draftOf(100n, {
    requestId: newId("request", nowMs),
    startedAtMs: nowMs,
    stream: true,
    firstOutputMs: 250,
    latencyMs: 900,
  });
  await wallet.settle(await mustReserve(wallet, ann, 100n), stream);
  await wallet.indexOnce();
  const receipt = { ...stream, accountId: ann, costMicroVnd: 100n, shortfallMicroVnd: 0n };
  await refundCall(kv, receipt, { reason: "test", atMs: nowMs });
  world.advance(2 * dayMs);
  assertEquals(problemLines(await world.verify()), []);
  const { checkpoints } = await readChain(kv, masterKeys);
  const { problems } = await moveDays({ living: kv, archive }, { checkpoints, nowMs });
  assertEquals(problems, []);
  const hours = await archive.hoursBetween(0, nowMs + dayMs);
  assertEquals(hours.reduce((sum, { receipts }) => sum + receipts, 0), seededCalls);
  const paidMicroVnd = hours.reduce((sum, { chargedMicroVnd }) => sum + chargedMicroVnd, -100n);
  return { day: vietnamDay(nowMs), paidMicroVnd };
}
