/** The servers of one run. */
import { cores, denoCommand, Server } from "./child.ts";
import { BenchGateway } from "./gateway.ts";
import type { Target } from "./load_job.ts";

export interface Setting extends AsyncDisposable {
  readonly mock: Server;
  /** The mock upstream without a gateway, to measure what the machine adds. */
  readonly direct: Target;
  readonly raw: Target;
  readonly gateway: BenchGateway;
}

function targetOf(server: Server): Target {
  return { url: `http://127.0.0.1:${server.port}`, headers: [], pid: server.pid };
}

export async function openSetting(): Promise<Setting> {
  await using stack = new AsyncDisposableStack();
  const mock = stack.use(
    await Server.start({ command: denoCommand("mock_upstream.ts"), core: cores.around }),
  );
  const raw = stack.use(
    await Server.start({
      command: denoCommand("raw_pipe.ts", String(mock.port)),
      core: cores.measured,
    }),
  );
  const gateway = stack.use(await BenchGateway.prepare(mock.port));
  await gateway.start();
  const all = stack.move();
  return {
    mock,
    direct: targetOf(mock),
    raw: targetOf(raw),
    gateway,
    [Symbol.asyncDispose]: () => all.disposeAsync(),
  };
}
