import { assert, assertEquals, assertMatch } from "@std/assert";
import { openStore } from "../../../kv/store.ts";
import { adminSocketPath, serveAdminSocket } from "../../../routes/admin/socket.ts";
import { runCommand } from "../../support/admin_command.ts";
import { testConfig } from "../../support/gateway_in_process.ts";

// A command is a process of its own, with which its HTTP client ends.
const options = { sanitizeResources: false };

Deno.test(
  "a server that ends in the middle of its answer is one line and exit code 1",
  options,
  async () => {
    const folder = await Deno.makeTempDir();
    const config = testConfig({ env: { GATEWAY_KV: `${folder}/gateway.sqlite3` } });
    const opened = await openStore(config.store);
    assert(opened.ok);
    const answer = () =>
      new ReadableStream<Uint8Array>({
        start(controller) {
          controller.enqueue(new TextEncoder().encode('{"ok":tr'));
        },
        pull(controller) {
          controller.error(new Error("the process dies"));
        },
      });
    const server = await serveAdminSocket(
      adminSocketPath(config),
      () => new Response(answer()),
    );
    try {
      const { code, written, errors } = await runCommand(config, ["verify"]);
      assertEquals([code, written], [1, ""]);
      assertMatch(errors, /^The answer broke off[^\n]+\n$/);
    } finally {
      await server.stop();
      opened.store[Symbol.dispose]();
      await Deno.remove(folder, { recursive: true });
    }
  },
);
