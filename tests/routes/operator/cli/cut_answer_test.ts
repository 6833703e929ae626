import { assert, assertEquals, assertMatch } from "../../../support/assert.ts";
import { systemClock } from "../../../../core/lib/time/clock.ts";
import { openStore } from "../../../../kv/engine/opening/store.ts";
import { adminSocketPath, serveAdminSocket } from "../../../../routes/operator/cli/socket.ts";
import { runCommand } from "../../../support/gateways/admin_command.ts";
import { testConfig } from "../../../support/gateways/gateway_in_process.ts";

/** Runs a command against a server that answers as told, and returns what it wrote to its error output. */
async function errorsOf(args: readonly string[], answer: () => Response): Promise<string> {
  const folder = await Deno.makeTempDir();
  const config = testConfig({ env: { GATEWAY_KV: `${folder}/gateway.sqlite3` } });
  const opened = await openStore(config.store, systemClock);
  assert(opened.ok);
  const server = await serveAdminSocket(adminSocketPath(config), answer);
  try {
    const { code, errors } = await runCommand(config, args);
    assertEquals(code, 1);
    return errors;
  } finally {
    await server.stop();
    opened.store[Symbol.dispose]();
    await Deno.remove(folder, { recursive: true });
  }
}

/** The process dies while it answers. */
function cutAnswer(): Response {
  return new Response(
    new ReadableStream<Uint8Array>({
      start(controller) {
        controller.enqueue(new TextEncoder().encode('{"ok":tr'));
      },
      pull(controller) {
        controller.error(new Error("the process dies"));
      },
    }),
  );
}

const credit = ["credit", "ann@example.com", "50000", "--reason", "top-up"];
const howToRepeat = /^Money may have moved\. Repeat the command with --operation (\S+):/m;

Deno.test(
  "a server that ends in the middle of its answer is one line and exit code 1",
  async () => {
    assertMatch(await errorsOf(["verify"], cutAnswer), /^The answer broke off[^\n]+\n$/);
  },
);

Deno.test(
  "a credit without an answer explains how to repeat it without crediting twice",
  async () => {
    const failed = () => Response.json({ error: { message: "store" } }, { status: 500 });
    for (const answer of [cutAnswer, failed]) {
      const [, made = ""] = howToRepeat.exec(await errorsOf(credit, answer)) ?? [];
      assertMatch(made, /^admin-[0-9a-f-]{36}$/);
      const own = await errorsOf([...credit, "--operation", "letter-17"], answer);
      assertEquals(howToRepeat.exec(own)?.[1], "letter-17");
    }
    const refused = () => Response.json({ error: { message: "no account" } }, { status: 400 });
    assertEquals(await errorsOf(credit, refused), "");
  },
);
