/** The files of `deploy/` fit the program: variables, metrics, paths, flags and times to stop are those of the code. */
import { assert, assertEquals } from "../support/assert.ts";
import {
  composeServices,
  deployFiles,
  dockerInstructions,
  manifests,
  unitSettings,
  variableLines,
  variablePairs,
  yamlFile,
} from "./deploy_files.ts";
import { readAdminCommand } from "../../routes/operator/cli/command_forms.ts";
import { openTestGateway } from "../support/gateways/gateway_in_process.ts";
import { root, sourcesIn, sourceText } from "./source_files.ts";

const docker = "deploy/docker";
const composeFiles = ["compose.yaml", "compose.denokv.yaml", "compose.standby.yaml"]
  .map((name) => `${docker}/${name}`);
const units = ["deploy/systemd/gateway.service", "deploy/systemd/gateway@.service"];
const jobs = ["verify", "backup", "archive"];
const jobUnits = jobs.map((name) => `deploy/systemd/gateway-${name}.service`);
const unitDropIn = "deploy/systemd/gateway-jobs.conf";
const environmentExamples = [
  "deploy/systemd/gateway.env.example",
  "deploy/deno-deploy/environment.example",
];
const dockerfile = dockerInstructions(sourceText(`${docker}/Dockerfile`));

interface Container {
  readonly image: string;
  /** Without a value: a fact of the cluster, which others are made of. */
  readonly env: readonly { readonly name: string; readonly value?: string }[];
  readonly readinessProbe: { readonly httpGet: { readonly path: string } };
  readonly livenessProbe: { readonly httpGet: { readonly path: string } };
}

interface Labels {
  readonly matchLabels: Readonly<Record<string, string>>;
}

interface Deployment {
  readonly spec: {
    readonly selector: Labels;
    readonly template: {
      readonly metadata: { readonly labels: Readonly<Record<string, string>> };
      readonly spec: {
        readonly terminationGracePeriodSeconds: number;
        readonly containers: readonly [Container];
      };
    };
  };
}

interface CronJob {
  readonly spec: {
    readonly timeZone: string;
    readonly jobTemplate: {
      readonly spec: {
        readonly template: {
          readonly spec: {
            readonly containers: readonly [{
              readonly image: string;
              readonly args: readonly string[];
              readonly envFrom: readonly { readonly secretRef: { readonly name: string } }[];
            }];
          };
        };
      };
    };
  };
}

const deployment = manifests("deploy/kubernetes/deployment.yaml")[0] as Deployment;
const [container] = deployment.spec.template.spec.containers;

/** Names that the configuration reads, and those of the runtime. */
function knownVariables(): ReadonlySet<string> {
  const sources = ["core/config", "core/trade/settings", "core/trade/invoices"].flatMap((folder) =>
    sourcesIn(folder).map(sourceText).toArray()
  );
  const names = sources.join("\n").match(/\b(?:PORT|HOST|[A-Z]+_[A-Z_]+)\b/gu) ?? [];
  return new Set([...names, "DENO_DIR", "DENO_NO_UPDATE_CHECK", "DENO_V8_FLAGS"]);
}

/** Variables that each file sets for the gateway. */
function gatewayVariables(): Readonly<Record<string, Readonly<Record<string, string>>>> {
  const sets: Record<string, Readonly<Record<string, string>>> = {};
  for (const { word, rest } of dockerfile) {
    if (word === "ENV") {
      sets[`${docker}/Dockerfile`] = { ...sets[`${docker}/Dockerfile`], ...variablePairs(rest) };
    }
  }
  for (const path of composeFiles) {
    for (const name of ["gateway-1", "gateway-2"]) {
      sets[`${path} ${name}`] = composeServices(path)[name]?.environment ?? {};
    }
  }
  for (const path of [...units, unitDropIn]) {
    const lines = unitSettings(sourceText(path)).filter(({ name }) => name === "Environment");
    sets[path] = variablePairs(lines.map(({ value }) => value).join(" "));
  }
  for (const path of environmentExamples) sets[path] = variableLines(sourceText(path));
  sets["deploy/kubernetes/deployment.yaml"] = Object.fromEntries(
    container.env.flatMap(({ name, value }) => value === undefined ? [] : [[name, value]]),
  );
  const [secret] = manifests("deploy/kubernetes/secret.example.yaml");
  sets["deploy/kubernetes/secret.example.yaml"] =
    (secret as { stringData: Record<string, string> }).stringData;
  return sets;
}

function unknownVariables(
  sets: Readonly<Record<string, Readonly<Record<string, string>>>>,
): readonly string[] {
  const known = knownVariables();
  return Object.entries(sets).flatMap(([file, variables]) =>
    Object.keys(variables).filter((name) => !known.has(name)).map((name) => `${file}: ${name}`)
  );
}

Deno.test("each variable that a file of deploy/ sets is read by the configuration", () => {
  const sets = gatewayVariables();
  for (const [file, variables] of Object.entries(sets)) {
    assert(Object.keys(variables).length > 2, `${file} sets none`);
  }
  assertEquals(unknownVariables(sets), []);
  assertEquals(unknownVariables({ file: { GATEWAY_KVV: "" } }), ["file: GATEWAY_KVV"]);
});

Deno.test("the example of .env names what the compose files take from it, without a secret", () => {
  const text = [`${docker}/common.yaml`, ...composeFiles].map(sourceText).join("\n");
  const taken = new Set(Array.from(text.matchAll(/\$\{([A-Z_]+)/gu), ([, name]) => name!));
  taken.delete("GATEWAY_IMAGE");
  const example = variableLines(sourceText(`${docker}/.env.example`));
  assertEquals(Object.keys(example).sort(), [...taken].sort());

  const examples = [
    example,
    ...environmentExamples.map((path) => variableLines(sourceText(path))),
    gatewayVariables()["deploy/kubernetes/secret.example.yaml"]!,
  ];
  for (const [name, value] of examples.flatMap((one) => Object.entries(one))) {
    if (/KEY|PASSWORD|TOKEN|_URL|_KV/u.test(name)) {
      assert(value === "" || value === "postgres://", `${name} holds a value`);
    }
  }
  const ignored = sourceText(".gitignore").split("\n");
  assert(ignored.includes(`/${docker}/.env`) && ignored.includes(`/${docker}/providers.env`));
});

/** Metrics that an expression uses and the gateway does not have. */
function unknownMetrics(expressions: string, metrics: string): readonly string[] {
  const types = new Map(
    Array.from(metrics.matchAll(/^# TYPE (\w+) (\w+)$/gmu), ([, name, type]) => [name!, type!]),
  );
  const used = new Set(expressions.match(/\bgateway_\w+/gu));
  assert(used.size > 0);
  return [...used].filter((name) => {
    const base = name.replace(/_(?:bucket|sum|count)$/u, "");
    return types.get(base) !== "histogram" && !types.has(name) ||
      types.get(name) === "histogram";
  });
}

Deno.test("the dashboard and the alarms use metrics that the gateway has", async () => {
  await using gateway = await openTestGateway();
  const metrics = gateway.assembled.gateway.metrics.text();
  const dashboard = JSON.parse(sourceText(`${docker}/grafana/dashboards/gateway.json`)) as {
    readonly panels: readonly { readonly targets: readonly { readonly expr: string }[] }[];
  };
  const expressions = dashboard.panels.flatMap(({ targets }) => targets.map(({ expr }) => expr));
  assertEquals(unknownMetrics(expressions.join("\n"), metrics), []);
  const rules = sourceText(`${docker}/alerts.yml`);
  assertEquals(unknownMetrics(rules, metrics), []);
  assertEquals(unknownMetrics("rate(gateway_calls[1m])", metrics), ["gateway_calls"]);
  // Each metric has its panel.
  const names = Array.from(metrics.matchAll(/^# TYPE (\w+) /gmu), ([, name]) => name!);
  const text = expressions.join("\n");
  assertEquals(names.filter((name) => !text.includes(name)), []);
});

Deno.test("each alert has a severity, a summary, and a runbook that exists", () => {
  const { groups } = yamlFile(`${docker}/alerts.yml`) as {
    readonly groups: readonly {
      readonly rules: readonly {
        readonly alert: string;
        readonly labels: { readonly severity: string };
        readonly annotations: { readonly summary: string; readonly runbook_url: string };
      }[];
    }[];
  };
  const rules = groups.flatMap(({ rules }) => rules);
  assert(rules.length > 20);
  for (const { alert, labels, annotations } of rules) {
    assert(["critical", "warning"].includes(labels.severity), alert);
    assert(annotations.summary.endsWith("."), alert);
    const [, page] = /^file:\/\/\/opt\/gateway\/(docs\/runbooks\/[a-z-]+\.md)$/u
      .exec(annotations.runbook_url) ?? [];
    assert(page !== undefined && Deno.statSync(new URL(page, root)).isFile, alert);
  }
});

/** What the image gets from this repository. */
function copiedPaths(): readonly string[] {
  return dockerfile.filter(({ word, rest }) => word === "COPY" && !rest.startsWith("--"))
    .flatMap(({ rest }) => rest.split(" ").slice(0, -1));
}

Deno.test("the image holds the modules of a start, and neither tests nor benchmarks", async () => {
  const copied = copiedPaths();
  const allowed = sourceText(".dockerignore").split("\n").filter((line) => line.startsWith("!"));
  assertEquals(allowed.map((line) => line.slice(1)).sort(), [...copied].sort());
  for (const path of copied) assert(Deno.statSync(new URL(path, root)), path);

  const { stdout } = await new Deno.Command(Deno.execPath(), {
    args: ["info", "--json", "main.ts"],
    cwd: root,
    stderr: "inherit",
  }).output();
  const { modules } = JSON.parse(new TextDecoder().decode(stdout)) as {
    readonly modules: readonly { readonly specifier: string }[];
  };
  const needed = modules.map(({ specifier }) => specifier)
    .filter((specifier) => specifier.startsWith(root.href))
    .map((specifier) => specifier.slice(root.href.length).split("/")[0]!);
  assertEquals([...new Set(needed)].filter((path) => !copied.includes(path)), []);
});

/** Images without a version of at least two numbers. */
function unpinned(images: readonly string[]): readonly string[] {
  return images.filter((image) => !/:(?:[a-z]+-)?v?\d+\.\d+(?:\.\d+)?(?:-[a-z]+)?$/u.test(image));
}

Deno.test("images are pinned to a version, and Deno to the one of the project", () => {
  const bases = dockerfile.filter(({ word }) => word === "FROM")
    .map(({ rest }) => rest.split(" ")[0]!);
  assertEquals(bases.filter((image) => !/:(?:distroless-)?2\.9\.\d+$/u.test(image)), []);
  const services = composeFiles.flatMap((path) => Object.values(composeServices(path)));
  const images = services.map(({ image }) => image ?? "none")
    .filter((image) => !image.startsWith("${GATEWAY_IMAGE"));
  assert(images.length >= 8);
  assertEquals(unpinned([...bases, ...images, container.image]), []);
  assertEquals(unpinned(["caddy", "caddy:latest", "caddy:2"]).length, 3);
});

Deno.test("denokv is built in the version that the tests run on, from pinned images", () => {
  const [, tested] = /cargo install --quiet denokv@([\d.]+)/u.exec(sourceText(".ci/run")) ?? [];
  const instructions = dockerInstructions(sourceText(`${docker}/denokv.Dockerfile`));
  const built = instructions.find(({ word }) => word === "RUN")?.rest ?? "";
  assert(tested !== undefined && built.includes(`"denokv@${tested}"`), `${tested}: ${built}`);
  const bases = instructions.filter(({ word }) => word === "FROM")
    .map(({ rest }) => rest.split(" ")[0] ?? "");
  assertEquals([bases.length, unpinned(bases)], [2, []]);
  const service = composeServices(`${docker}/compose.denokv.yaml`)["denokv"];
  assertEquals([service?.image, service?.build?.dockerfile], [
    `denokv:${tested}`,
    "denokv.Dockerfile",
  ]);
});

Deno.test("image and units start the gateway as `deno task start` does, without downloads", () => {
  const { tasks } = JSON.parse(sourceText("deno.json")) as { tasks: Record<string, string> };
  const start = tasks["start"]!.split(" ").slice(1);
  const entry = dockerfile.find(({ word }) => word === "ENTRYPOINT")!;
  const commands = [
    (JSON.parse(entry.rest) as string[]).slice(3),
    ...[...units, ...jobUnits].map((path) => {
      const { value } = unitSettings(sourceText(path)).find(({ name }) => name === "ExecStart")!;
      const words = value.split(/\s+/u).slice(1);
      return words.slice(0, words.indexOf("main.ts") + 1);
    }),
  ];
  const offline = ["--cached-only", "--frozen"];
  for (const command of commands) {
    assertEquals(command.filter((flag) => !offline.includes(flag)), start);
    assertEquals(offline.filter((flag) => !command.includes(flag)), []);
  }
});

/** Seconds that a gateway may need to stop: delay, drain, and 3 s for the last events. */
function stopSeconds(variables: Readonly<Record<string, string>>): number {
  const delayMs = Number(variables["GATEWAY_STOP_DELAY_MS"] ?? 0);
  return (delayMs + Number(variables["GATEWAY_DRAIN_MS"])) / 1000 + 3;
}

Deno.test("nothing kills a gateway that is still stopping", () => {
  const sets = gatewayVariables();
  for (const path of composeFiles) {
    const period = composeServices(path)["gateway-1"]?.stop_grace_period ?? "0s";
    assert(Number.parseInt(period) > stopSeconds(sets[`${path} gateway-1`]!), path);
  }
  for (const path of units) {
    const { value } = unitSettings(sourceText(path)).find(({ name }) => name === "TimeoutStopSec")!;
    assert(Number.parseInt(value) > stopSeconds(sets[path]!), path);
  }
  const { terminationGracePeriodSeconds } = deployment.spec.template.spec;
  assert(terminationGracePeriodSeconds > stopSeconds(sets["deploy/kubernetes/deployment.yaml"]!));
});

Deno.test("files that the compose files mount exist, and proxy and scraper name their services", () => {
  for (const path of composeFiles) {
    const services = composeServices(path);
    const mounted = Object.values(services).flatMap(({ volumes }) => volumes ?? [])
      .flatMap((volume) => /^(?:\$\{\w+:-)?(\.[^:}]*)/u.exec(volume)?.[1] ?? []);
    assert(mounted.length >= 6);
    for (const file of mounted) assert(Deno.statSync(new URL(`${docker}/${file}`, root)), file);
    const addresses = ["gateway-1:8787", "gateway-2:8787"];
    assertEquals(services["caddy"]?.environment?.["GATEWAY_UPSTREAMS"], addresses.join(" "));
    const scraped = sourceText(`${docker}/prometheus.yml`).match(/[\w-]+:8787/gu);
    assertEquals(scraped, addresses);
  }
});

Deno.test("the manifests select the pods of the deployment and probe paths that exist", () => {
  const { labels } = deployment.spec.template.metadata;
  const [service] = manifests("deploy/kubernetes/service.yaml");
  const [budget] = manifests("deploy/kubernetes/pod-disruption-budget.yaml");
  assertEquals(deployment.spec.selector.matchLabels, labels);
  assertEquals((service as { spec: { selector: unknown } }).spec.selector, labels);
  assertEquals((budget as { spec: { selector: Labels } }).spec.selector.matchLabels, labels);
  assertEquals(container.readinessProbe.httpGet.path, "/readyz");
  assertEquals(container.livenessProbe.httpGet.path, "/healthz");
});

Deno.test("the jobs run commands that exist, with the image, the time zone and the secrets of the gateway", () => {
  const cronJobs = manifests("deploy/kubernetes/cron-jobs.yaml").filter((one): one is CronJob =>
    (one as { kind: string }).kind === "CronJob"
  );
  const inUnits = jobUnits.map((path) => {
    const { value } = unitSettings(sourceText(path)).find(({ name }) => name === "ExecStart")!;
    return value.split(/\s+/u).slice(value.split(/\s+/u).indexOf("main.ts") + 1);
  });
  const inJobs = cronJobs.map(({ spec }) => {
    const { containers: [{ image, args, envFrom }] } = spec.jobTemplate.spec.template.spec;
    assertEquals([image, spec.timeZone], [container.image, "Asia/Ho_Chi_Minh"]);
    assertEquals(envFrom[0]?.secretRef.name, "gateway");
    return args;
  });
  for (const [which, [word, ...words]] of [...inUnits, ...inJobs].entries()) {
    assertEquals([word, readAdminCommand(words).kind], ["admin", "request"], `${which}`);
  }
  assertEquals(inJobs.map(([, word]) => word), jobs);
  assertEquals(inUnits.map(([, word]) => word), jobs);
});

Deno.test("one `kubectl apply -k` makes all manifests but the example of the secret", () => {
  const { resources } = yamlFile("deploy/kubernetes/kustomization.yaml") as { resources: string[] };
  const files = deployFiles("deploy/kubernetes").map((path) => path.split("/").slice(2).join("/"));
  const others = ["kustomization.yaml", "secret.example.yaml"];
  assertEquals(
    resources.toSorted(),
    files.filter((name) => !others.includes(name) && !name.includes("/")).sort(),
  );
});

Deno.test("deploy/ready.ts succeeds once /readyz answers 200", async () => {
  let answers = 0;
  await using server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    () => new Response(null, { status: ++answers > 2 ? 200 : 503 }),
  );
  const exitCode = async (...args: string[]) => {
    const permissions = ["--no-prompt", "--allow-net=127.0.0.1", "--allow-env=PORT"];
    const { code } = await new Deno.Command(Deno.execPath(), {
      args: ["run", ...permissions, "deploy/ready.ts", ...args],
      cwd: root,
      env: { PORT: String(server.addr.port) },
    }).output();
    return code;
  };
  assertEquals(await exitCode(), 1);
  assertEquals(answers, 1);
  assertEquals(await exitCode("30"), 0);
  assertEquals(answers, 3);
  assertEquals(await exitCode("30", "0.3"), 0);
  // At the beginning of the time and after it; between them as often as the machine finds time for.
  assert(answers >= 5, "asks until it has been ready for the time given");
});

Deno.test("docs/operations/deployments.md names each file of deploy/", () => {
  const page = sourceText("docs/operations/deployments.md");
  const missing = deployFiles().filter((path) => {
    const name = path.slice(path.lastIndexOf("/") + 1);
    return !page.includes(name) && !path.includes("/provisioning/");
  });
  assertEquals(missing, []);
});
