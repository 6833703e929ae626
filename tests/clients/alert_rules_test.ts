/** Each alert of `deploy/docker/alerts.yml` rings when it should, and does not otherwise, by Prometheus' own program. */
import { parse } from "yaml";
import { assert, assertEquals } from "../support/assert.ts";

const rulesPath = new URL("../../deploy/docker/alerts.yml", import.meta.url).pathname;

/** Series by their names with labels; values a minute, as promtool writes them. */
type Samples = Readonly<Record<string, string>>;

interface AlertCase {
  /** Minutes after the first value at which the alert has to ring. */
  readonly atMinute: number;
  readonly rings: Samples;
  readonly silent: Samples;
}

/** A counter that nobody had counted for two hours, and then once. */
const firstEvent = "_x120 1x30";
const eventEarlier = "1x180";
const soon = 125;

const cases: Readonly<Record<string, AlertCase>> = {
  GatewayUnreachable: {
    atMinute: 5,
    rings: { 'up{job="gateway", instance="a"}': "1 1 0x10" },
    silent: { 'up{job="gateway", instance="a"}': "1x10" },
  },
  GatewayLedgerUnavailable: {
    atMinute: 5,
    rings: { gateway_teller_healthy: "1 0x10" },
    silent: { gateway_teller_healthy: "1x10" },
  },
  GatewayDefects: {
    atMinute: soon,
    rings: { 'gateway_refused_calls_total{status="500", code="internal_error"}': firstEvent },
    silent: {
      'gateway_refused_calls_total{status="500", code="internal_error"}': eventEarlier,
      'gateway_calls_total{status="502"}': "0+9x180",
    },
  },
  GatewayUnavailable: {
    atMinute: 20,
    rings: {
      'gateway_refused_calls_total{status="503"}': "0+3x30",
      'gateway_calls_total{status="200"}': "0+97x30",
    },
    silent: {
      'gateway_refused_calls_total{status="503"}': "0+1x30",
      'gateway_calls_total{status="200"}': "0+99x30",
    },
  },
  GatewayRefusals: {
    atMinute: 1_500,
    rings: { 'gateway_refused_calls_total{code="invalid_request"}': "0+6x1440 8640+60x60" },
    silent: { 'gateway_refused_calls_total{code="invalid_request"}': "0+60x1500" },
  },
  GatewayWorkersReplaced: {
    atMinute: 20,
    rings: { gateway_workers_replaced_total: "0x15 1x10" },
    silent: { gateway_workers_replaced_total: "1x30" },
  },
  GatewayRouteFailing: {
    atMinute: 10,
    rings: { 'gateway_route_breaker{route="a/b"}': "0 2x10" },
    silent: { 'gateway_route_breaker{route="a/b"}': "2 2 2 1x10" },
  },
  GatewayCallsFail: {
    atMinute: 20,
    rings: {
      'gateway_calls_total{model="m", outcome="failed"}': "0+6x30",
      'gateway_calls_total{model="m", outcome="completed"}': "0+94x30",
    },
    silent: {
      'gateway_calls_total{model="m", outcome="failed"}': "0+4x30",
      'gateway_calls_total{model="m", outcome="completed"}': "0+96x30",
    },
  },
  GatewayProviderKeyRejected: {
    atMinute: soon,
    rings: { 'gateway_provider_refusals_total{provider="p", status="401"}': firstEvent },
    silent: {
      'gateway_provider_refusals_total{provider="p", status="401"}': eventEarlier,
      'gateway_provider_refusals_total{provider="p", status="402"}': "0+1x180",
    },
  },
  GatewayProviderKeyResting: {
    atMinute: 25,
    rings: { 'gateway_provider_keys_resting{provider="p"}': "0 1x30" },
    silent: { 'gateway_provider_keys_resting{provider="p"}': "1 1 1 0x30" },
  },
  GatewayProviderCreditLow: {
    atMinute: soon,
    rings: { 'gateway_provider_refusals_total{provider="p", status="402"}': firstEvent },
    silent: {
      'gateway_provider_refusals_total{provider="p", status="402"}': eventEarlier,
      'gateway_provider_refusals_total{provider="p", status="401"}': "0+1x180",
    },
  },
  GatewayProviderCreditEnds: {
    atMinute: 480,
    rings: { 'gateway_provider_credit{provider="p", currency="USD"}': "1000-1x480" },
    silent: { 'gateway_provider_credit{provider="p", currency="USD"}': "3000-1x480" },
  },
  GatewayReceiptsLate: {
    atMinute: 12,
    rings: { 'gateway_late_receipts_total{charge="forgone"}': "0x10 1x10" },
    silent: { 'gateway_late_receipts_total{charge="forgone"}': "1x20" },
  },
  GatewayReceiptsPending: {
    atMinute: 6,
    rings: { gateway_receipts_pending: "20 900x10" },
    silent: { gateway_receipts_pending: "20 900 20x10" },
  },
  GatewayRefundsFailed: {
    atMinute: 30,
    rings: { 'gateway_withheld_refunds_total{result="failed"}': "0x20 1x20" },
    silent: { 'gateway_withheld_refunds_total{result="refunded"}': "0+1x40" },
  },
  GatewayCommitsSlow: {
    atMinute: 30,
    rings: {
      'gateway_commit_seconds_bucket{le="0.5"}': "0x40",
      'gateway_commit_seconds_bucket{le="1"}': "0+10x40",
      'gateway_commit_seconds_bucket{le="+Inf"}': "0+10x40",
    },
    silent: {
      'gateway_commit_seconds_bucket{le="0.5"}': "0+10x40",
      'gateway_commit_seconds_bucket{le="1"}': "0+10x40",
      'gateway_commit_seconds_bucket{le="+Inf"}': "0+10x40",
    },
  },
  GatewayVerificationFailed: {
    atMinute: 2,
    rings: { 'gateway_verification_problems{scope="daily"}': "0 3x5" },
    silent: { 'gateway_verification_problems{scope="daily"}': "3 0x5" },
  },
  // The first value is of the time 0, so this verification was 36 hours earlier.
  GatewayVerificationOld: {
    atMinute: 20,
    rings: { 'gateway_verified_timestamp_seconds{scope="daily"}': "-129600x30" },
    silent: { 'gateway_verified_timestamp_seconds{scope="daily"}': "-86400x30" },
  },
  GatewayBooksNotSealed: {
    atMinute: 4_400,
    rings: { gateway_sealed_until_timestamp_seconds: "1x4400" },
    silent: { gateway_sealed_until_timestamp_seconds: "1x2000 86400x2400" },
  },
  GatewayDaysNotArchived: {
    atMinute: 20,
    rings: { gateway_archive_problems: "0 2x20" },
    silent: { gateway_archive_problems: "2 0x20" },
  },
  GatewayArchiveOld: {
    atMinute: 4_400,
    rings: { gateway_archived_timestamp_seconds: "1x4400" },
    silent: { gateway_archived_timestamp_seconds: "0x4400" },
  },
  GatewayBackupOld: {
    atMinute: 4_400,
    rings: { gateway_backup_timestamp_seconds: "1x4400" },
    silent: { gateway_backup_timestamp_seconds: "0x4400" },
  },
  GatewayShortfall: {
    atMinute: soon,
    rings: { 'gateway_shortfall_vnd_total{model="m"}': firstEvent },
    silent: { 'gateway_shortfall_vnd_total{model="m"}': eventEarlier },
  },
  GatewayProviderClaims: {
    atMinute: soon,
    rings: { 'gateway_provider_claims_vnd_total{route="a/b"}': firstEvent },
    silent: { 'gateway_provider_claims_vnd_total{route="a/b"}': eventEarlier },
  },
  GatewayOutboxStuck: {
    atMinute: 20,
    rings: { 'gateway_outbox_overdue_seconds{queue="mail"}': "0+60x20" },
    silent: { 'gateway_outbox_overdue_seconds{queue="mail"}': "0 200 0 200 0x20" },
  },
  GatewayOutboxGaveUp: {
    atMinute: 2,
    rings: { 'gateway_outbox_dead_letters{queue="mail"}': "0 1x5" },
    silent: { 'gateway_outbox_dead_letters{queue="mail"}': "1 0x5" },
  },
  PostgresDown: { atMinute: 4, rings: { pg_up: "1 0x5" }, silent: { pg_up: "0 1x5" } },
  PostgresLag: {
    atMinute: 6,
    rings: { pg_replication_lag_seconds: "0 40x10" },
    silent: { pg_replication_lag_seconds: "0 40 0x10" },
  },
  PostgresConnections: {
    atMinute: 10,
    rings: {
      'pg_stat_activity_count{instance="i", state="active"}': "10x20",
      'pg_stat_activity_count{instance="i", state="idle"}': "75x20",
      'pg_settings_max_connections{instance="i"}': "100x20",
    },
    silent: {
      'pg_stat_activity_count{instance="i", state="active"}': "10x20",
      'pg_stat_activity_count{instance="i", state="idle"}': "65x20",
      'pg_settings_max_connections{instance="i"}': "100x20",
    },
  },
  DiskFull: {
    atMinute: 20,
    rings: {
      'node_filesystem_avail_bytes{instance="i", mountpoint="/", fstype="ext4"}': "14x30",
      'node_filesystem_size_bytes{instance="i", mountpoint="/", fstype="ext4"}': "100x30",
    },
    silent: {
      'node_filesystem_avail_bytes{instance="i", mountpoint="/run", fstype="tmpfs"}': "1x30",
      'node_filesystem_size_bytes{instance="i", mountpoint="/run", fstype="tmpfs"}': "100x30",
      'node_filesystem_avail_bytes{instance="i", mountpoint="/", fstype="ext4"}': "16x30",
      'node_filesystem_size_bytes{instance="i", mountpoint="/", fstype="ext4"}': "100x30",
    },
  },
  CertificateExpiring: {
    atMinute: 90,
    rings: { 'probe_ssl_earliest_cert_expiry{instance="i"}': "1000000x100" },
    silent: { 'probe_ssl_earliest_cert_expiry{instance="i"}': "2000000x100" },
  },
};

/** What promtool has to find: whether the alert rings at that minute. */
function promtoolTest(name: string, samples: Samples, atMinute: number, doesRing: boolean) {
  return {
    name: `${name} ${doesRing ? "rings" : "is silent"}`,
    interval: "1m",
    input_series: Object.entries(samples).map(([series, values]) => ({ series, values })),
    promql_expr_test: [{
      expr: `count(ALERTS{alertname="${name}", alertstate="firing"}) or vector(0)`,
      eval_time: `${atMinute}m`,
      exp_samples: [{ labels: "{}", value: doesRing ? 1 : 0 }],
    }],
  };
}

/** A file of rules, as far as this test looks at it. */
interface Rules {
  readonly groups: readonly { readonly rules: readonly { readonly alert: string }[] }[];
}

/** The group of one alert without the others, which promtool would evaluate for every minute of its cases, too. */
function rulesOf({ groups }: Rules, name: string): Rules {
  const own = groups.map((group) => ({
    ...group,
    rules: group.rules.filter(({ alert }) => alert === name),
  }));
  return { groups: own.filter(({ rules }) => rules.length > 0) };
}

async function promtool(...args: readonly string[]): Promise<string> {
  const { stdout, stderr, success } = await new Deno.Command("promtool", { args: [...args] })
    .output();
  const decoder = new TextDecoder();
  return success ? "" : decoder.decode(stdout) + decoder.decode(stderr);
}

/** Runs the tests of each alert with the rules of that alert. */
async function runCases(rules: Rules, tests: ReadonlyMap<string, readonly unknown[]>) {
  const folder = await Deno.makeTempDir();
  try {
    const files: string[] = [];
    for (const [name, cases] of tests) {
      const [rulesFile, file] = [`${folder}/${name}_rules.json`, `${folder}/${name}.json`];
      await Deno.writeTextFile(rulesFile, JSON.stringify(rulesOf(rules, name)));
      const content = { rule_files: [rulesFile], evaluation_interval: "1m", tests: cases };
      await Deno.writeTextFile(file, JSON.stringify(content));
      files.push(file);
    }
    return await promtool("test", "rules", ...files);
  } finally {
    await Deno.remove(folder, { recursive: true });
  }
}

const hasPromtool = await new Deno.Command("promtool", { args: ["--version"] }).output()
  .then(() => true, () => false);

Deno.test({
  name: "each alert rings when it should, and not otherwise",
  ignore: !hasPromtool,
  async fn() {
    assertEquals(await promtool("check", "rules", rulesPath), "");
    const rules = parse(await Deno.readTextFile(rulesPath)) as Rules;
    const alerts = rules.groups.flatMap((group) => group.rules.map(({ alert }) => alert));
    assertEquals(Object.keys(cases).sort(), alerts.toSorted());
    const tests = Object.entries(cases).map(([name, { atMinute, rings, silent }]) =>
      [name, [
        promtoolTest(name, rings, atMinute, true),
        promtoolTest(name, silent, atMinute, false),
      ]] as const
    );
    assertEquals(await runCases(rules, new Map(tests)), "");
    const name = "GatewayUnreachable";
    const wrong = promtoolTest(name, { up: "1x10" }, 5, true);
    assert((await runCases(rules, new Map([[name, [wrong]]]))).includes("FAILED"));
  },
});
