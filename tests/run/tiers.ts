/** Which test files run in which tier, and how; `tests/repository/tiers_test.ts` holds that each file has one place. */

/** `fast`: what every change has to pass. `long`: the rest, and every property with all its cases. */
export type Tier = "fast" | "long";

/** Folders of tests that start no process: several files share one isolate. */
export const unitFolders: readonly string[] = [
  "tests/conformance",
  "tests/core",
  "tests/kv",
  "tests/repository",
  "tests/routes",
  "tests/run",
  "tests/sandbox",
  "tests/security",
  "tests/support",
];

/** Folders of tests that start processes, servers or browsers: each file has a process of its own. */
export const processFolders: readonly string[] = [
  "tests/browser",
  "tests/chaos",
  "tests/clients",
  "tests/uptime",
];

/** Files of process folders that the fast tier has, with what each stands for. */
export const fastProcesses: Readonly<Record<string, string>> = {};

/** Unit files that only the long tier has, with the reason and with what the fast tier has instead. */
export const longUnits: Readonly<Record<string, string>> = {
  "tests/kv/store/engines/denokv_test.ts":
    "starts servers; the engines' one suite runs on the embedded one",
  "tests/kv/store/engines/lost_answers_test.ts": "starts servers and waits for late answers",
  "tests/kv/store/engines/embedded_expiry_test.ts": "waits for the runtime's sweep, once a minute",
  "tests/kv/store/engines/postgres_silence_test.ts": "waits for a silent server",
  "tests/kv/store/engines/postgres_test.ts":
    "starts servers; the engines' one suite runs on the embedded one",
  "tests/kv/wallet/far_store_test.ts":
    "simulates hours of a store 150 ms away; wallet/chaos_test.ts has its rules",
  "tests/kv/wallet/fleet_bill_test.ts": "simulates a fleet; wallet/chaos_test.ts has its rules",
};

/** Files during which nothing else runs, with the reason. */
export const aloneFiles: Readonly<Record<string, string>> = {};
