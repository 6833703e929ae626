/**
 * A million calls over routes that die, slow down, flap, recover and lie, in simulated time: compares the router with
 * round-robin and priority-only. Run: `deno run bench/routing_simulation.ts [calls]`.
 */
import { policyNames } from "./routing/policies.ts";
import { minute, scenarios, steady } from "./routing/scenarios.ts";
import { simulate } from "./routing/simulation.ts";

const rows = scenarios.length * policyNames.length;
const calls = Math.round(Number(Deno.args[0] ?? 1_000_000 / rows));
// Ten simulated minutes for any number of calls: one without failures, five with, four to recover.
const everyMs = 10 * minute / calls;
const write = (line: string) => void Deno.stdout.writeSync(new TextEncoder().encode(`${line}\n`));
write(`${calls * rows} calls: ${calls} per row in 10 simulated minutes, ${rows} rows`);
write(
  "scenario                             policy         ok %     tries/call  p50 ms  p95 ms  p99 ms  +p95 ms  share a/b/c  a by minute, %",
);
for (const scenario of scenarios) {
  const quiet = simulate(
    { name: "", routes: { b: steady(320), c: steady(310) } },
    "round-robin",
    { calls, everyMs },
  );
  for (const policy of policyNames) {
    const r = simulate(scenario, policy, { calls, everyMs });
    const percent = (value: number) => String(Math.round(100 * value));
    const share = ["a", "b", "c"].map((id) => percent(r.share[id] ?? 0)).join("/");
    write(
      [
        scenario.name.padEnd(36),
        policy.padEnd(14),
        (100 * (1 - r.failed / r.calls)).toFixed(3).padStart(7),
        r.triesPerCall.toFixed(4).padStart(11),
        ...[r.p50Ms, r.p95Ms, r.p99Ms].map((ms) => String(ms).padStart(7)),
        String(r.p95Ms - quiet.p95Ms).padStart(8),
        ` ${share}`.padEnd(12),
        r.firstByMinute.map(percent).join(" "),
      ].join(" "),
    );
  }
}
