/** Which test files run in which tier, and how; `tests/repository/tiers_test.ts` holds that each file has one place. */

/**
 * `fast`: what every change has to pass. `long`: the rest, and every property with all its cases. `rest`: what `fast` has
 * not tried, for who runs both with one number of cases, as a submission does.
 */
export type Tier = "fast" | "long" | "rest";

/** Folders of tests that start no process: several files share one isolate. */
export const unitFolders: readonly string[] = [
  "tests/conformance",
  "tests/core",
  "tests/crawl",
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
export const fastProcesses: Readonly<Record<string, string>> = {
  "tests/browser/first_day_test.ts": "a customer's journey in a browser, from sign-up to a call",
  "tests/browser/price_change_test.ts": "an operator's journey in a browser, from price to price",
  "tests/chaos/costs_kill_test.ts": "kill -9 amid calls, and all books afterwards",
  "tests/chaos/workers_rates_test.ts": "a gateway on several threads, and a thread that ends",
  "tests/clients/anthropic_test.ts": "the SDK of Anthropic: whole answers, streams, tools",
  "tests/clients/gemini_test.ts": "the SDK of Google: whole answers, streams, tools",
  "tests/clients/openai_test.ts": "the SDK of OpenAI: whole answers, streams, tools",
};

/** Unit files that only the long tier has, with the reason and with what the fast tier has instead. */
export const longUnits: Readonly<Record<string, string>> = {
  "tests/kv/store/engines/denokv_test.ts":
    "starts servers; the engines' one suite runs on the embedded one",
  "tests/kv/store/engines/lost_answers_test.ts": "starts servers and waits for late answers",
  "tests/kv/store/engines/embedded_expiry_test.ts": "waits for the runtime's sweep, once a minute",
  "tests/kv/store/engines/postgres_plans_test.ts": "starts a server, and explains its statements",
  "tests/kv/store/engines/pgbouncer_test.ts":
    "starts servers; the engines' one suite runs on the embedded one",
  "tests/kv/store/engines/postgres_outage_test.ts":
    "starts servers; kv/store/outages_test.ts and kv/engine/parts/commit_watch_test.ts have its rules",
  "tests/kv/store/engines/postgres_silence_test.ts": "waits for a silent server",
  "tests/kv/store/engines/postgres_test.ts":
    "starts servers; the engines' one suite runs on the embedded one",
  "tests/kv/services/archive/postgres_archive_test.ts":
    "starts a server; move_days_test.ts beside it runs the same suite on files",
  "tests/kv/services/retention/postgres_retention_test.ts":
    "starts a server; retention_test.ts beside it runs the same suite on files",
  "tests/kv/money/wallet/lease/far_store_test.ts":
    "simulates hours of a store 150 ms away; chaos_test.ts beside it has its rules",
  "tests/kv/money/wallet/fleet_bill_test.ts":
    "simulates a fleet; wallet/lease/chaos_test.ts has its rules",
};

/** A process without a processor to collect on grows: the peak of its memory says little beside other work. */
const memoryReason = "measures the peak of a process's memory";

/** Files during which nothing else runs, with the reason. */
export const aloneFiles: Readonly<Record<string, string>> = {
  "tests/clients/answer_memory_test.ts": memoryReason,
  "tests/clients/body_memory_test.ts": memoryReason,
  "tests/clients/bounded_memory_test.ts": memoryReason,
  "tests/clients/media_memory_test.ts": memoryReason,
};

const behindServer = "conversion is behind the server; the SDK without conversion is tried on both";

/** Files that one server is enough for, though they listen on a socket, with the reason. */
export const oneServerFiles: Readonly<Record<string, string>> = {
  "tests/clients/converted_anthropic_test.ts": behindServer,
  "tests/clients/converted_openai_test.ts": behindServer,
};

/** Files that hardly use a processor while they wait, with what they wait for: they run beside the others. */
export const waitingFiles: Readonly<Record<string, string>> = {
  "tests/chaos/several_instances_test.ts": "leases of dead instances, a minute each",
  "tests/clients/media_kill_test.ts": "videos of the sandbox",
  "tests/kv/store/engines/embedded_expiry_test.ts": "the runtime's sweep, once a minute",
  "tests/kv/store/engines/postgres_silence_test.ts": "a silent server",
  "tests/uptime/idle_reads_test.ts": "a minute without calls",
};

/**
 * Seconds of files that take long in the long tier, on two processors: they begin first, since a processor would be idle
 * while the last ones end.
 */
export const slowFiles: Readonly<Record<string, number>> = {
  "tests/agents/agents_test.ts": 360,
  "tests/browser/companies_month_test.ts": 180,
  "tests/browser/company_sign_in_test.ts": 40,
  "tests/browser/first_day_looks_test.ts": 40,
  "tests/browser/journey_test.ts": 60,
  "tests/browser/journeys_test.ts": 120,
  "tests/browser/new_provider_test.ts": 50,
  "tests/browser/operator_shell_test.ts": 40,
  "tests/browser/page_looks_test.ts": 320,
  "tests/browser/page_speed_test.ts": 40,
  "tests/browser/pages_test.ts": 200,
  "tests/browser/palette_test.ts": 45,
  "tests/browser/playground_test.ts": 90,
  "tests/browser/price_change_looks_test.ts": 50,
  "tests/browser/price_change_test.ts": 40,
  "tests/browser/topup_pages_test.ts": 180,
  "tests/browser/two_factor_test.ts": 70,
  "tests/chaos/archive_kill_test.ts": 100,
  "tests/chaos/authorisation_test.ts": 60,
  "tests/chaos/deno_deploy_test.ts": 60,
  "tests/chaos/kill_test.ts": 50,
  "tests/chaos/money_kill_test.ts": 45,
  "tests/chaos/several_instances_test.ts": 140,
  "tests/chaos/upstreams_test.ts": 60,
  "tests/chaos/workers_kill_test.ts": 45,
  "tests/chaos/workers_routing_test.ts": 45,
  "tests/clients/media_kill_test.ts": 130,
  "tests/cluster/daily_life_test.ts": 50,
  "tests/cluster/failover_test.ts": 50,
  "tests/cluster/kills_test.ts": 65,
  "tests/cluster/master_keys_test.ts": 50,
  "tests/cluster/network_test.ts": 80,
  "tests/cluster/outage_test.ts": 60,
  "tests/cluster/patroni_test.ts": 250,
  "tests/cluster/previous_release_test.ts": 70,
  "tests/cluster/rolling_restart_test.ts": 40,
  "tests/conformance/mutated_answers_test.ts": 150,
  "tests/conformance/request_mutations_test.ts": 70,
  "tests/core/media/answers_property_test.ts": 40,
  "tests/core/media/audio/measure_test.ts": 40,
  "tests/crawl/crawl_test.ts": 60,
  "tests/kv/money/ledger/refunds_test.ts": 40,
  "tests/kv/services/archive/postgres_archive_test.ts": 80,
  "tests/kv/services/retention/postgres_retention_test.ts": 150,
  "tests/kv/services/retention/retention_test.ts": 40,
  "tests/kv/store/engines/denokv_test.ts": 60,
  "tests/kv/store/engines/embedded_expiry_test.ts": 65,
  "tests/kv/store/engines/pgbouncer_test.ts": 60,
  "tests/kv/store/engines/postgres_test.ts": 60,
  "tests/routes/acts/organisations_model_test.ts": 150,
  "tests/routes/dashboard/page/hostile_values_test.ts": 40,
  "tests/routes/operator/operations/money_ways_test.ts": 40,
  "tests/routes/operator/operations/three_ways_test.ts": 40,
  "tests/uptime/days_test.ts": 60,
  "tests/uptime/idle_reads_test.ts": 90,
};
