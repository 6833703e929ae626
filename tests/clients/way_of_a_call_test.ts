/** A call runs through no more files than `docs/internals/ARCHITECTURE.md` says: what its reader has to hold. */
import { assert, assertEquals } from "../support/assert.ts";
import { countWays } from "../../bench/way.ts";

const page = new URL("../../docs/internals/ARCHITECTURE.md", import.meta.url);

/** The files that the page grants a call, by the row of its table. */
function grantedFiles(call: string): number {
  const row = new RegExp(`^\\| ${call} +\\| +(\\d+) +\\|`, "mu").exec(Deno.readTextFileSync(page));
  assert(row !== null, `the page has no row of "${call}"`);
  return Number(row[1]);
}

Deno.test("a call runs through no more files than the architecture says", async () => {
  const ways = await countWays();
  for (const [call, files] of Object.entries(ways)) {
    const granted = grantedFiles(call);
    assert(files.length <= granted, `${call}: ${files.length} files, granted ${granted}`);
    // Otherwise nothing was measured.
    assert(files.includes("routes/api/chat/chat.ts"), `${call}: ${files.join(", ")}`);
  }
  const reaches = (file: string) =>
    Object.entries(ways).filter(([, files]) => files.includes(file)).map(([call]) => call);
  assertEquals(reaches("core/net/http1/transport.ts"), ["native call", "converted stream"]);
  assertEquals(reaches("core/wire/convert/convert.ts"), ["converted stream"]);
});
