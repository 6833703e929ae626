/** Each test file runs in one way, and no table of the tiers names a file that is missing. */
import { suitesOf, testFilesIn } from "../run/plan.ts";
import {
  aloneFiles,
  fastProcesses,
  longUnits,
  oneServerFiles,
  processFolders,
  slowFiles,
  type Tier,
  unitFolders,
  waitingFiles,
} from "../run/tiers.ts";
import { assertEquals } from "../support/assert.ts";

const all = testFilesIn(["tests"]);
const others = ["tests/agents", "tests/cluster"];

Deno.test("each test file is in one folder of the tiers", () => {
  const folders = [...unitFolders, ...processFolders, ...others];
  const homes = (file: string) => folders.filter((folder) => file.startsWith(`${folder}/`)).length;
  assertEquals(all.filter((file) => homes(file) !== 1), []);
});

Deno.test("the tables of the tiers name files that exist, each with a reason", () => {
  for (const table of [fastProcesses, longUnits, aloneFiles, oneServerFiles, waitingFiles]) {
    for (const [file, reason] of Object.entries(table)) {
      assertEquals([all.includes(file), reason.length > 5], [true, true], file);
    }
  }
  assertEquals(Object.keys(slowFiles).filter((file) => !all.includes(file)), []);
});

async function filesOfTiers(...tiers: readonly Tier[]): Promise<string> {
  const folder = await Deno.makeTempDir();
  try {
    return tiers.flatMap((tier) => {
      const own = `${folder}/${tier}`;
      Deno.mkdirSync(own);
      const jobs = [...suitesOf(tier, { seed: 1, folder: own }).values()].flat();
      return jobs.flatMap(({ args }) => args)
        .map((path) => path.startsWith(own) ? Deno.readTextFileSync(path) : path);
    }).join("\n");
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

for (const tiers of [["fast", "long"], ["fast", "rest"]] as const) {
  Deno.test(`every test file is run by the tiers ${tiers.join(" and ")}`, async () => {
    const named = await filesOfTiers(...tiers);
    assertEquals(all.filter((file) => !named.includes(file)), []);
  });
}
