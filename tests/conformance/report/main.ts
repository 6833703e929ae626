/**
 * `deno task report:conversion -- [FOLDER] [--remarks]` reports the result of recorded exchanges in every direction of
 * conversion. FOLDER is laid out as `tests/conformance/recordings.ts` says; without it the environment variable WIRE_FIXTURES names it.
 * `--remarks` lists the deviations by the names of recordings and fields.
 */
import { readAllRecordings, recordingsFolder } from "../recordings.ts";
import { measure } from "./measure.ts";
import { tableOf } from "./table.ts";

/** Returns the whole report, or the reason why there is none. */
function report(words: readonly string[]): { readonly code: number; readonly text: string } {
  const folder = words.find((word) => !word.startsWith("--")) ?? recordingsFolder();
  if (folder === undefined) {
    return { code: 2, text: "Name a folder of recorded exchanges, or set WIRE_FIXTURES" };
  }
  const recordings = readAllRecordings(folder);
  if (recordings.length === 0) {
    return { code: 2, text: `${folder} has no recordings in messages/, chat/ or responses/` };
  }
  const rows = measure(recordings);
  const remarks = rows.flatMap(({ from, to, remarks }) =>
    remarks.map((remark) => `${from} → ${to}: ${remark}`)
  );
  const wanted = words.includes("--remarks") && remarks.length > 0 ? ["", ...remarks] : [];
  return { code: 0, text: [tableOf(rows), ...wanted].join("\n") };
}

if (import.meta.main) {
  const { code, text } = report(Deno.args);
  await new Blob([`${text}\n`]).stream().pipeTo(Deno.stdout.writable);
  Deno.exit(code);
}
