/** An application behind a real socket, as the server puts it there. */
import { answerWith, listen } from "../../../routes/server/listen/listen.ts";
import type { createApp } from "../../../routes/server/listen/app.ts";
import type { Gateway } from "../../../routes/api/gateway/gateway.ts";

export interface ListeningApp extends AsyncDisposable {
  readonly address: string;
}

/** Listens on a free port until it is disposed of. */
export function listenWith(gateway: Gateway, app: ReturnType<typeof createApp>): ListeningApp {
  const config = { ...gateway.config, host: "127.0.0.1", port: 0 };
  const listening = listen({ ...gateway, config }, answerWith(gateway, app));
  if (!listening.ok) throw new Error(listening.problem);
  return {
    address: `http://127.0.0.1:${listening.address.port}`,
    [Symbol.asyncDispose]: listening.shutdown,
  };
}
