/** An application behind a real socket, as the server puts it there. */
import { answerWith } from "../../../routes/server/listen.ts";
import type { createApp } from "../../../routes/app.ts";
import type { Gateway } from "../../../routes/api/gateway.ts";

export interface ListeningApp extends AsyncDisposable {
  readonly address: string;
}

/** Listens on a free port until it is disposed of. */
export function listenWith(gateway: Gateway, app: ReturnType<typeof createApp>): ListeningApp {
  const server = Deno.serve(
    { hostname: "127.0.0.1", port: 0, onListen() {} },
    answerWith(gateway, app),
  );
  return {
    address: `http://127.0.0.1:${server.addr.port}`,
    [Symbol.asyncDispose]: () => server.shutdown(),
  };
}
