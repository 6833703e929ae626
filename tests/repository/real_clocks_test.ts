/**
 * Tests assert nothing about the clock of the machine and wait for events, not for a time: what passes on a quick machine
 * would fail on a busy one. Time is a parameter (`tests/support/manual_time.ts`), waiting is `until`, and "quickly" is a
 * count of steps (`tests/support/steps.ts`).
 */
import { assertEquals } from "../support/assert.ts";
import { sourcesIn, sourceText } from "./source_files.ts";

/** What depends on the machine's clock. Zero-delay turns of the event loop are in `tests/support/turns.ts`. */
const readings: readonly (readonly [name: string, pattern: RegExp])[] = [
  ["performance.now", /\bperformance\s*\.\s*now\b/u],
  ["Date.now", /\bDate\s*\.\s*now\b/u],
  ["new Date()", /\bnew Date(?:\(\s*\)|(?!\s*\())/u],
  ["setTimeout", /\bsetTimeout\b/u],
  ["setInterval", /\bsetInterval\b/u],
  ["a fixed sleep", /\bsleep\(\s*(?!0\s*\))[^)\s]/u],
];

/** Durations by the names that tests give them, compared. */
const comparison: readonly [name: string, pattern: RegExp] = [
  "a comparison of durations",
  /\b(?:took|elapsed|passed|waited|duration|latency)\w*(?:\s*[-+]\s*[\w.]+)?\s*[<>]=?\s*[\w.]/iu,
];

/** A clock of the test's own: durations on it are exact. */
const ownClock = /\bManualTime\b|\bmanual_time\b|\bmonotonicMs\b/u;

const process = "starts processes or sockets, whose clock is the machine's";
const traffic = "paces traffic against running processes; outcomes are counted, not timed";

/** Files that need the machine's clock, with the reason. */
const exceptions: Readonly<Record<string, string>> = {
  "tests/core/calls/attempts/silent_routes_test.ts": "compares times of its own clock",
  "tests/kv/store/engines/lost_answers.ts": "pauses between tries on real servers, without outcome",
  "tests/repository/real_clocks_test.ts": "has examples of what it finds",
  "tests/routes/operator/cli/commands/backup_test.ts":
    "PostgreSQL keeps the time until a row expires: a day",
  "tests/routes/operator/cli/commands/catalog_command_test.ts":
    "a command has the machine's clock; the moment is a day ahead",
  "tests/routes/operator/cli/commands/store_readings_test.ts":
    "the timers of a served gateway have to see that its clock was moved",
  "tests/run/job.ts": "reports how long test files take, and ends those that hang",
  "tests/security/http1/smuggling_test.ts":
    "shows that nothing follows a try; a slow machine sees less, and fails nothing",
  "tests/support/gateways/threaded_gateway.ts": process,
  "tests/support/resident_memory.ts": "reads the memory of a process at intervals",
  "tests/support/servers/deno_deploy/platform.ts": "moves the clock of a platform",
  "tests/support/servers/kv_connect/server.ts": process,
  "tests/support/servers/kv_connect_proxy.ts": "delays a call, and has an event for its end",
  "tests/support/servers/synchronous_standby.ts": process,
  "tests/support/servers/tcp_proxy.ts": "is a slow network",
  "tests/support/skippable_time.ts": "skips the machine's time",
  "tests/support/turns.ts": "turns of the event loop, without delay",
  "tests/support/until.ts": "polls, with a bound that only a defect reaches",
  "tests/support/worlds/money_process.ts": process,
  "tests/support/worlds/webhook_world.ts":
    "gives a library that reads the machine's clock the time of the test",
};

/** Suites against running processes that use the machine's clock, with the reason. */
const processSuites: Readonly<Record<string, string>> = {
  "tests/agents/agents_world.ts": "ends an agent that hangs",
  "tests/agents/scripted_upstream.ts": "is a provider that takes its time",
  "tests/browser/journey_test.ts": "writes the notices of a bank, which have the machine's time",
  "tests/chaos/archive_kill_test.ts": "spreads kills over the moving of days, and counts them",
  "tests/chaos/catalog_test.ts": "spreads kills over a change of the catalogue",
  "tests/chaos/credits_kill_test.ts": process,
  "tests/chaos/kill_test.ts":
    "sends a second signal, which counts as one with the first if at once",
  "tests/chaos/money_kill_test.ts": process,
  "tests/chaos/organisations_kill_test.ts": "spreads the acts of people over a kill",
  "tests/chaos/postgres_failover_test.ts": traffic,
  "tests/chaos/reservations_kill_test.ts": process,
  "tests/chaos/restore_kill_test.ts": process,
  "tests/chaos/rolling_restart_test.ts": traffic,
  "tests/chaos/several_instances_test.ts": traffic,
  "tests/chaos/webhooks_kill_test.ts": "spreads kills over deliveries, and counts what arrives",
  "tests/chaos/upstreams_test.ts": "is a provider that takes its time",
  "tests/clients/answer_memory_test.ts": "is a client that reads slowly",
  "tests/clients/media_memory_test.ts": "polls until a video has ended",
  "tests/clients/media_sdk_test.ts": "polls until a video has ended",
  "tests/cluster/client_ledger.ts": "reports the longest call, and asserts nothing about it",
  "tests/cluster/kills_test.ts": traffic,
  "tests/cluster/master_keys_test.ts": traffic,
  "tests/cluster/network_test.ts": traffic,
  "tests/cluster/outage_test.ts": traffic,
  "tests/cluster/patroni_test.ts":
    "reports how long an election took, and asserts nothing about it",
  "tests/cluster/peer_turns_test.ts": "asks a process, whose clock is the machine's",
  "tests/cluster/previous_release_test.ts": traffic,
  "tests/cluster/rolling_restart_test.ts": traffic,
  "tests/cluster/traffic.ts": traffic,
  "tests/runtimes/main.ts": "reports how long each runtime takes, and ends a browser that hangs",
  "tests/uptime/days_test.ts": "ends a run that hangs",
  "tests/uptime/idle_reads_test.ts": "counts what an idle process does in a time",
};

/** Lines without comments, as far as they can be told apart without a parser. */
function codeOf(text: string): string {
  return text.replaceAll(/\/\*[^]*?\*\//gu, "").replaceAll(/(?:^|\s)\/\/.*$/gmu, "");
}

/** Names of what a text reads the machine's clock by. */
function readingsIn(text: string): string[] {
  const code = codeOf(text);
  const found = ownClock.test(code) ? readings : [...readings, comparison];
  return found.filter(([, pattern]) => pattern.test(code)).map(([name]) => name);
}

Deno.test("no test depends on the clock of the machine", () => {
  const found = [...sourcesIn("tests")]
    .filter((file) => !Object.hasOwn(exceptions, file) && !Object.hasOwn(processSuites, file))
    .flatMap((file) => readingsIn(sourceText(file)).map((name) => `${file}: ${name}`));
  assertEquals(found, []);
});

Deno.test("each exception is of a file that needs it", () => {
  const idle = Object.keys(exceptions)
    .filter((file) => readingsIn(sourceText(file)).length === 0);
  assertEquals(idle, []);
});

Deno.test("a dependence on the clock of the machine is found", () => {
  const found: Readonly<Record<string, string>> = {
    "const beganMs = performance.now();": "performance.now",
    "credit({ atMs: Date.now() })": "Date.now",
    "sign(new Date().toISOString())": "new Date()",
    "await new Promise((wake) => setTimeout(wake, 20));": "setTimeout",
    "const timer = setInterval(look, 5);": "setInterval",
    "await sleep(50);": "a fixed sleep",
    "await sleep(pauseMs);": "a fixed sleep",
    "assert(tookMs < 5_000);": "a comparison of durations",
    "assert(elapsed - pause >= limit)": "a comparison of durations",
  };
  for (const [code, name] of Object.entries(found)) assertEquals(readingsIn(code), [name], code);
  const allowed = [
    "// Date.now() would be the machine's",
    "/** Not `setTimeout`. */",
    "new Date(time.nowMs())",
    "await sleep(0);",
    "await nextTurn();",
    "assert(steps < maxSteps);",
  ];
  for (const code of allowed) assertEquals(readingsIn(code), [], code);
});
