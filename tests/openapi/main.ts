/**
 * `deno task test:openapi`: schemathesis reads `/openapi.json` of a started gateway and sends it what the document
 * allows, and what it does not. It fails on a 500, on a status that the document does not name, and on an answer that
 * differs from its schema.
 *
 * schemathesis is a Python program. It is installed into a folder outside of the checkout; without Python the task says
 * so and is skipped.
 */
import { startGateway } from "../support/gateways/started_gateway.ts";
import { installPython } from "../support/installed_once.ts";
import { gatewayFileOfAllKinds } from "./sandbox_models.ts";

const version = "4.32.5";

/** Seconds for the whole run: what CI can spare. */
const runSeconds = 110;

/** Cases of one operation and phase: with 30 operations they end within {@linkcode runSeconds} on one processor. */
const casesOfOperation = 25;

/** Threads of schemathesis. With two, its generator of cases fails now and then in a cache that they share. */
const threads = 1;

/** Checks that hold for every request. Those on refusals of wrong data do not: unknown fields are forwarded. */
const checks = [
  "not_a_server_error",
  "status_code_conformance",
  "content_type_conformance",
  "response_schema_conformance",
  "response_headers_conformance",
  "unsupported_method",
];

/**
 * What the server answers to methods beyond these is its own matter: it has no TRACE, which is a 501 by RFC 9110.
 */
const settings = `[phases.coverage]
unexpected-methods = ["GET", "PUT", "POST", "DELETE", "PATCH"]
`;

/** The money for all calls of a run; the demo account has enough for some hundred. */
const budgetVnd = "1000000000";

const installed = await installPython("schemathesis", `schemathesis==${version}\n`);
if ("missing" in installed) {
  const said = `skipped: schemathesis ${version} cannot be installed: ${installed.missing}\n`;
  await Deno.stdout.write(new TextEncoder().encode(said));
  Deno.exit(0);
}
const folder = await Deno.makeTempDir({ prefix: "gateway-openapi-" });
await Deno.writeTextFile(`${folder}/gateway.json`, await gatewayFileOfAllKinds());
const gateway = await startGateway({ folder, env: { GATEWAY_CONFIG: `${folder}/gateway.json` } });
const credited = await gateway.admin(
  "credit",
  "demo@sandbox.invalid",
  budgetVnd,
  "--reason",
  "test",
);
if (credited.code !== 0) throw new Error(credited.output);
await Deno.writeTextFile(`${folder}/schemathesis.toml`, settings);
const { code } = await new Deno.Command(`${installed.folder}/bin/schemathesis`, {
  args: [
    `--config-file=${folder}/schemathesis.toml`,
    "run",
    `${gateway.address}/openapi.json`,
    `--url=${gateway.address}`,
    `--header=authorization: Bearer ${gateway.key}`,
    `--checks=${checks.join(",")}`,
    "--phases=examples,coverage,fuzzing",
    `--max-examples=${casesOfOperation}`,
    `--max-time=${runSeconds}`,
    `--workers=${threads}`,
    "--continue-on-failure",
    "--seed=1",
    "--generation-database=none",
    "--warnings=off",
    "--suppress-health-check=all",
    "--no-color",
    ...Deno.args,
  ],
  cwd: folder,
  stdin: "null",
}).spawn().status;
await gateway[Symbol.asyncDispose]();
await Deno.remove(folder, { recursive: true });
Deno.exit(code);
