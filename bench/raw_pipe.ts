/**
 * The reference of the benchmark, a process of its own: `Deno.serve` and `fetch`, bodies passed through, nothing else.
 *
 * `raw_pipe.ts <upstream port> [fetch|http1]`; prints `ready <port>`.
 */
import { systemClock } from "../core/lib/time/clock.ts";
import { Deadlines } from "../core/lib/time/deadlines.ts";
import { createHttp1Transport } from "../core/net/http1/transport.ts";
import type { ByteReader } from "../core/net/transport/transport.ts";
import { denoConnect } from "../routes/process/deno_connect.ts";
import { print } from "./print.ts";

const upstream = `http://127.0.0.1:${Deno.args[0]}`;

async function byFetch(request: Request): Promise<Response> {
  const { pathname } = new URL(request.url);
  const answer = await fetch(upstream + pathname, {
    method: request.method,
    headers: { "content-type": "application/json" },
    body: await request.bytes(),
  });
  return new Response(answer.body, {
    status: answer.status,
    headers: { "content-type": answer.headers.get("content-type") ?? "" },
  });
}

function byOwnClient(): (request: Request) => Promise<Response> {
  const transport = createHttp1Transport({
    connect: denoConnect(),
    deadlines: new Deadlines({ clock: systemClock }),
  });
  return async (request) => {
    const { pathname } = new URL(request.url);
    const exchange = transport.open({
      method: "POST",
      url: upstream + pathname,
      headers: [["content-type", "application/json"]],
      body: await request.bytes(),
    });
    const answer = await exchange.response;
    const headers = { "content-type": answer.header("content-type") ?? "" };
    const length = Number(answer.header("content-length") ?? NaN);
    if (length >= 0) return new Response(await readWhole(answer.body, length), { headers });
    const stream = new ReadableStream<Uint8Array>({
      async pull(controller) {
        const view = await answer.body.read();
        if (view === null) controller.close();
        else controller.enqueue(view.slice());
      },
      cancel: () => exchange.cancel(),
    }, { highWaterMark: 0 });
    return new Response(stream, { status: answer.status, headers });
  };
}

async function readWhole(body: ByteReader, length: number): Promise<Uint8Array<ArrayBuffer>> {
  const whole = new Uint8Array(length);
  let at = 0;
  for (let view = await body.read(); view !== null; view = await body.read()) {
    whole.set(view, at);
    at += view.length;
  }
  return whole;
}

Deno.serve({
  hostname: "127.0.0.1",
  port: 0,
  onListen: ({ port }) => print(`ready ${port}`),
}, Deno.args[1] === "http1" ? byOwnClient() : byFetch);
