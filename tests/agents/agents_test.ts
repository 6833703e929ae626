import { assert, assertEquals } from "../support/assert.ts";
import { drawn } from "../support/property.ts";
import { report } from "../support/report.ts";
import type { Style } from "../../core/wire/contract/contract.ts";
import { type AgentName, agents, conversationOf, resumable, scriptOf } from "./agents.ts";
import { AgentsWorld, type RanAgent, type Scene, vendorModel } from "./agents_world.ts";
import { installAgents, installedVersions } from "./installed.ts";

// The sanitizers would report processes and sockets of foreign programs.
const options = { sanitizeOps: false, sanitizeResources: false };

const missing = await installAgents();
if (missing !== undefined) {
  Deno.test(`skipped: no agents, since ${missing}`, { ignore: true }, () => {});
}
const ignore = missing !== undefined;
// A report of this suite says which versions it is about.
if (!ignore) report(`versions: ${JSON.stringify(await installedVersions())}`);

const styles: readonly Style[] = ["messages", "chat", "responses", "gemini"];
const names = Object.keys(agents) as AgentName[];

/** Agents that a small machine can run at once. */
const lanes = 2;

async function inLanes<Item>(
  items: readonly Item[],
  lanes: number,
  work: (item: Item) => Promise<void>,
): Promise<void> {
  const queue = [...items];
  const failures: unknown[] = [];
  const lane = async () => {
    for (let item = queue.shift(); item !== undefined; item = queue.shift()) {
      await work(item).catch((failure) => failures.push(failure));
    }
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  if (failures.length > 0) throw new AggregateError(failures);
}

/** Checks that the agent completed its task, and that the vendor validators accepted everything it sent. */
function assertEdited(
  world: AgentsWorld,
  scene: Scene,
  { code, output, note }: RanAgent,
): void {
  const seen = world.seen(scene.model).map((
    { style, provider, step, outcome, refusal },
  ) => [provider, style, step, outcome, refusal ?? ""].join(" "));
  const story = `${scene.model}\n${seen.join("\n")}\n${output.slice(-3_000)}`;
  assertEquals(note, "beta\n", story);
  assertEquals(code, 0, story);
  assert(
    !output.includes(vendorModel),
    `the vendor's name of the model is visible: ${story}`,
  );
  assert(
    world.seen(scene.model).every(({ refusal }) => refusal === undefined),
    story,
  );
}

Deno.test({
  name: "every agent edits a file over every provider style",
  ignore,
  ...options,
}, async () => {
  const scenes: Scene[] = names.flatMap((name) =>
    styles.map((style): Scene => ({
      model: `${name.toLowerCase()}-${style}`,
      agent: agents[name],
      routes: [["a", style]],
    }))
  );
  await using world = await AgentsWorld.open(scenes, scriptOf);
  await inLanes(scenes, lanes, async (scene) => {
    const ran = await world.run(scene.model);
    assertEdited(world, scene, ran);
    assertEquals(
      world.loop(scene.model).map(({ step }) => step),
      [0, 1, 2],
      scene.model,
    );
  });
  await world.checkBooks();
});

/** The usual combinations: each agent with its own style, and those of the vendors converted. */
const usual: readonly (readonly [AgentName, Style])[] = [
  ["claudeCode", "messages"],
  ["claudeCode", "chat"],
  ["codex", "responses"],
  ["codex", "messages"],
  ["opencode", "chat"],
  ["geminiCli", "gemini"],
  ["geminiCli", "messages"],
  ["geminiCli", "chat"],
  ["aiSdkMessages", "messages"],
];

function usualScenes(
  kind: string,
  rest: Omit<Scene, "model" | "agent" | "routes">,
): Scene[] {
  return usual.map(([name, style]): Scene => ({
    model: `${kind}-${name.toLowerCase()}-${style}`,
    agent: agents[name],
    routes: [["a", style]],
    ...rest,
  }));
}

Deno.test({
  name: "a model that thinks silently for longer than 30 s is waited for, in one attempt a step",
  ignore,
  ...options,
}, async () => {
  const scenes = usualScenes("silent", {
    trouble: ({ step }, earlier) =>
      step === 1 && earlier === 0 ? { kind: "silence", silentMs: 34_000 } : { kind: "none" },
  });
  await using world = await AgentsWorld.open(scenes, scriptOf);
  await inLanes(scenes, scenes.length, async (scene) => {
    const ran = await world.run(scene.model);
    assertEdited(world, scene, ran);
    assertEquals(
      world.loop(scene.model).map(({ step }) => step),
      [0, 1, 2],
      scene.model,
    );
  });
  await world.checkBooks();
});

Deno.test({
  name: "an overload told within a stream is tried again by the agent, which goes on",
  ignore,
  ...options,
}, async () => {
  const scenes = usualScenes("overloaded", {
    trouble: ({ step }, earlier) =>
      step === 1 && earlier === 0 ? { kind: "overload_in_stream" } : { kind: "none" },
  });
  await using world = await AgentsWorld.open(scenes, scriptOf);
  await inLanes(scenes, lanes, async (scene) => {
    assertEdited(world, scene, await world.run(scene.model));
    assertEquals(
      world.loop(scene.model).map(({ step }) => step),
      [0, 1, 1, 2],
      scene.model,
    );
  });
  await world.checkBooks();
});

Deno.test({
  name: "a route that fails in the middle of a tool loop is replaced, and the loop goes on",
  ignore,
  ...options,
}, async () => {
  const pairs = usual.flatMap(([name, style]) =>
    styles.map((second) => [name, style, second] as const)
  );
  // Each takes an agent of its own. A case may be drawn twice.
  const scenes = [...new Set(drawn(pairs))].map(([name, style, second]): Scene => ({
    model: `failover-${name.toLowerCase()}-${style}-${second}`,
    agent: agents[name],
    routes: [["a", style], ["b", second]],
    trouble: ({ step, provider }) =>
      step === 1 && provider === "a" ? { kind: "server_error" } : { kind: "none" },
  }));
  await using world = await AgentsWorld.open(scenes, scriptOf);
  await inLanes(scenes, lanes, async (scene) => {
    assertEdited(world, scene, await world.run(scene.model));
  });
  await world.checkBooks();
});

/** Conversations of each agent that resumes one, and turns of each: a run by hand takes more of them. */
const conversations = Number(Deno.env.get("AGENT_CONVERSATIONS") ?? "1");
const conversationTurns = Number(Deno.env.get("AGENT_TURNS") ?? "6");

Deno.test({
  name: "a long conversation over two keys and two routes that fail now and then is never refused",
  ignore,
  ...options,
}, async () => {
  const scenes = Array.from({ length: conversations }, (_, at) =>
    resumable.map((name): Scene => {
      const { style } = agents[name];
      return {
        model: `conversation-${at}-${name.toLowerCase()}`,
        agent: agents[name],
        routes: [["a", style], ["b", style]],
        // Within a tool loop (the first request after a result) and between turns (the second).
        trouble: ({ step }, earlier) =>
          step % 5 === (earlier === 0 ? 3 : 1) && earlier < 2
            ? { kind: "server_error" }
            : { kind: "none" },
      };
    })).flat();
  await using world = await AgentsWorld.open(scenes, conversationOf);
  await inLanes(scenes, lanes, async ({ model }) => {
    for (let turn = 0; turn < conversationTurns; turn++) {
      const { code, output } = await world.run(model, turn > 0);
      assertEquals(code, 0, `${model}, turn ${turn}: ${output.slice(-3_000)}`);
    }
    const refusals = world.seen(model).flatMap(({ refusal = [] }) => refusal);
    assertEquals(refusals, [], model);
    const answered = world.loop(model).filter(({ outcome }) => outcome === "completed");
    assertEquals(answered.length, 2 * conversationTurns, model);
    assertEquals(answered.at(-1)?.step, conversationTurns, `${model} does not remember its turns`);
  });
  const failed = scenes.flatMap(({ model }) => world.seen(model))
    .filter(({ outcome }) => outcome === "failed").length;
  report(`${scenes.length} conversations of ${conversationTurns} turns, ${failed} failovers`);
  await world.checkBooks();
});

Deno.test({
  name: "an agent that is interrupted stops its provider and pays for what came",
  ignore,
  ...options,
}, async () => {
  const scenes = usualScenes("interrupted", {
    trouble: () => ({ kind: "endless", paceMs: 20 }),
  });
  await using world = await AgentsWorld.open(scenes, scriptOf);
  await inLanes(scenes, lanes, async (scene) => {
    const { stop, ended } = await world.start(scene.model);
    await world.producing(scene.model);
    stop();
    await ended;
    assertEquals(
      (await world.settled(scene.model)).map(({ outcome }) => outcome),
      ["left"],
    );
  });
  await world.checkBooks();
});
