/** Identities of workloads: no secret in the configuration, credentials from the platform, renewed and shared. */
import { assert, assertEquals } from "../../../support/assert.ts";
import { type FakeCloud, workloadRole } from "../../../support/servers/fake_cloud.ts";
import {
  chatAnswer,
  type CloudWorld,
  type CloudWorldOptions,
  messagesAnswer,
  openCloudWorld,
  turns,
} from "./cloud_world.ts";

interface Workload {
  readonly provider: (cloud: FakeCloud, file: string) => object;
  readonly route: object;
  readonly secret: (cloud: FakeCloud, file: string) => string;
  readonly answer: () => Response;
  /** Whether the platform keeps a token in a file. */
  readonly hasFile: boolean;
  /** What the cloud forgets so that it refuses the credential. */
  readonly revoke: (cloud: FakeCloud) => void;
}

const bedrock = { cloud: { name: "bedrock" } };
const claude = { model: "anthropic.claude", style: "messages" };
const forgetKeys = (cloud: FakeCloud) => cloud.temporaryKeys.clear();
const forgetTokens = (cloud: FakeCloud) => cloud.tokens.clear();

const workloads: Readonly<Record<string, Workload>> = {
  "AWS web identity": {
    provider: (cloud) => ({
      ...bedrock,
      auth: {
        kind: "aws-web-identity",
        region: "us-east-1",
        role: workloadRole,
        sts: `${cloud.origin}/sts`,
      },
    }),
    route: claude,
    secret: (_cloud, file) => file,
    answer: () => Response.json(messagesAnswer("Chào")),
    hasFile: true,
    revoke: forgetKeys,
  },
  "AWS container": {
    provider: (_cloud, file) => ({
      ...bedrock,
      auth: { kind: "aws-container", region: "us-east-1", tokenFile: file },
    }),
    route: claude,
    secret: (cloud) => `${cloud.origin}/v1/credentials`,
    answer: () => Response.json(messagesAnswer("Chào")),
    hasFile: true,
    revoke: forgetKeys,
  },
  "Google metadata": {
    provider: (cloud) => ({
      cloud: { name: "vertex", project: "project-1", location: "us-east5" },
      auth: { kind: "google-metadata", metadata: cloud.origin },
    }),
    route: { model: "claude", style: "messages" },
    secret: () => "default",
    answer: () => Response.json(messagesAnswer("Chào")),
    hasFile: false,
    revoke: forgetTokens,
  },
  "Entra federation": {
    provider: (cloud) => ({
      cloud: { name: "azure", apiVersion: "2024-10-21" },
      auth: {
        kind: "entra-federated",
        tenant: "tenant-1",
        clientId: "client-1",
        authority: cloud.origin,
      },
    }),
    route: { model: "deployment", style: "chat" },
    secret: (_cloud, file) => file,
    answer: () => Response.json(chatAnswer("Chào")),
    hasFile: true,
    revoke: forgetTokens,
  },
};

interface WorkloadWorld extends CloudWorld {
  readonly file: string;
}

async function openWorkload(
  { provider, route, secret, answer }: Workload,
  changes: Partial<CloudWorldOptions> = {},
): Promise<WorkloadWorld> {
  const file = await Deno.makeTempFile();
  const world = await openCloudWorld({
    provider: (cloud) => provider(cloud, file),
    route,
    secrets: (cloud) => [secret(cloud, file)],
    ...changes,
  });
  world.cloud.answer = answer;
  await Deno.writeTextFile(file, `${await world.cloud.workloadToken()}\n`);
  return {
    ...world,
    file,
    async [Symbol.asyncDispose]() {
      await world[Symbol.asyncDispose]();
      await Deno.remove(file).catch(() => {});
    },
  };
}

async function statusOf(world: CloudWorld): Promise<number> {
  const response = await world.ask({ messages: turns });
  await response.body?.cancel();
  return response.status;
}

for (const [name, workload] of Object.entries(workloads)) {
  Deno.test(`${name}: many calls share one credential`, async () => {
    await using world = await openWorkload(workload);
    const statuses = await Promise.all([1, 2, 3].map(() => statusOf(world)));
    assertEquals(statuses, [200, 200, 200]);
    assertEquals(await statusOf(world), 200);
    assertEquals(world.cloud.tokenRequests, 1);
  });

  Deno.test(`${name}: a credential that has ended is replaced within the call`, async () => {
    await using world = await openWorkload(workload);
    assertEquals(await statusOf(world), 200);
    workload.revoke(world.cloud);
    assertEquals(await statusOf(world), 200);
    assertEquals([world.cloud.tokenRequests, world.credentials().resting], [2, 0]);
  });

  Deno.test(`${name}: one that soon ends is renewed before it does`, async () => {
    await using world = await openWorkload(workload);
    // Less than is left when a token is used no more.
    world.cloud.lifeSeconds = 5;
    assertEquals([await statusOf(world), await statusOf(world)], [200, 200]);
    assertEquals(world.cloud.tokenRequests, 2);
  });

  if (!workload.hasFile) continue;

  Deno.test(`${name}: another's token is refused, rests and is shown nowhere`, async () => {
    await using world = await openWorkload(workload, { hasSecondRoute: true });
    const token = await world.cloud.workloadToken("system:serviceaccount:other");
    await Deno.writeTextFile(world.file, token);
    assertEquals(await statusOf(world), 200); // by the second route
    const { resting, reasons } = world.credentials();
    assertEquals(resting, 1);
    assert(reasons[0]?.startsWith("token_refused: ") === true, reasons.join());
    assert(!(world.log() + reasons.join()).includes(token.slice(0, 20)));
  });

  Deno.test(`${name}: without its file the call goes to another route, and operators see why`, async () => {
    await using world = await openWorkload(workload, { hasSecondRoute: true });
    await Deno.remove(world.file);
    assertEquals(await statusOf(world), 200); // by the second route
    assertEquals(world.credentials().reasons, ["token_file_not_readable"]);
    assertEquals(world.cloud.requests.length, 0);
  });
}
