import { assertEquals } from "../../support/assert.ts";
import { systemClock } from "../../../core/lib/time/clock.ts";
import { Deadlines } from "../../../core/lib/time/deadlines.ts";
import { createHttp1Transport } from "../../../core/net/http1/transport.ts";
import { denoConnect, type DenoConnectOptions } from "../../../routes/process/deno_connect.ts";
import { failureCode } from "../../core/net/http1/fake_connection.ts";
import { call } from "../../core/net/http1/read_whole.ts";
import { RawPeer, type Script } from "../../core/net/transport/raw_peer.ts";
import { canLimit } from "../../support/gateways/started_gateway.ts";

/**
 * A certificate for `localhost`, its key, and the authority that signed it. For tests on loopback only: the key is public.
 */
const caPem = `-----BEGIN CERTIFICATE-----
MIIBejCCASGgAwIBAgIUdp6qHJ+r/qWWqdx0e+sOLeACkukwCgYIKoZIzj0EAwIw
EjEQMA4GA1UEAwwHdGVzdCBjYTAgFw0yNjExMjAxMjIyMzBaGA8yMTI2MTAyNzEy
MjIzMFowEjEQMA4GA1UEAwwHdGVzdCBjYTBZMBMGByqGSM49AgEGCCqGSM49AwEH
A0IABCDAK7EFUDZ80WSUZpsgBkgcAj97Dcv7CVVCA1c5pPLgns3bvINUsTdTKyBK
UUvbG1oi5DilbzM3XE8U826aVX+jUzBRMB0GA1UdDgQWBBT32nVfRo1T5SOspil1
SMoRjwOkUTAfBgNVHSMEGDAWgBT32nVfRo1T5SOspil1SMoRjwOkUTAPBgNVHRMB
Af8EBTADAQH/MAoGCCqGSM49BAMCA0cAMEQCID4TEl5y7oamc5oJzdTvW+BqVAzK
oqKYA3gcU0pFjRlZAiABAbVcWdiuOJznlEqDPgFvN/KTkzHKaw4ji3OPWZ8bgA==
-----END CERTIFICATE-----
`;
const localhostPem = `-----BEGIN CERTIFICATE-----
MIIBjTCCATOgAwIBAgIUBw1L0EDtgJCQ2CsxpLJuY4fOIdUwCgYIKoZIzj0EAwIw
EjEQMA4GA1UEAwwHdGVzdCBjYTAgFw0yNjExMjAxMjIyMzBaGA8yMTI2MTAyNzEy
MjIzMFowFDESMBAGA1UEAwwJbG9jYWxob3N0MFkwEwYHKoZIzj0CAQYIKoZIzj0D
AQcDQgAESNUG/xPyXmT9ut9g7aBO/9B6ZYB3OF6eCF7YzcCgQPgYdhLMS0l0wAmw
anbieFkt2EGmic4IPDuF4MEyROHcuaNjMGEwFAYDVR0RBA0wC4IJbG9jYWxob3N0
MAkGA1UdEwQCMAAwHQYDVR0OBBYEFEvD7Cz2TJ0b83RV07gGBseTvNP0MB8GA1Ud
IwQYMBaAFPfadV9GjVPlI6ymKXVIyhGPA6RRMAoGCCqGSM49BAMCA0gAMEUCIBid
//rqXF6WcLf2BcqWFvSUrEDyzmBkUqXgLe/yXuezAiEArReLequYloGA2HkJmO0D
2FlbaCUc7GuKRqHB0BB4FeU=
-----END CERTIFICATE-----
`;
const localhostKeyPem = `-----BEGIN PRIVATE KEY-----
MIGHAgEAMBMGByqGSM49AgEGCCqGSM49AwEHBG0wawIBAQQgaHe125LC0khUZWeQ
5ufCheWi3iNM+UBZ2WTNvb+79AChRANCAARI1Qb/E/JeZP2632DtoE7/0HplgHc4
Xp4IXtjNwKBA+Bh2EsxLSXTACbBqduJ4WS3YQaaJzgg8O4XgwTJE4dy5
-----END PRIVATE KEY-----
`;

/** What a handshake may take where it is not the point: more than on any machine. */
const generousMs = 120_000;

async function withTlsPeer(
  script: Script,
  options: DenoConnectOptions,
  run: (port: number, transport: ReturnType<typeof createHttp1Transport>) => Promise<void>,
): Promise<void> {
  const deadlines = new Deadlines({ clock: systemClock, tickMs: 10 });
  const connect = denoConnect(options);
  const transport = createHttp1Transport({ connect, deadlines, connectMs: generousMs });
  try {
    await using peer = new RawPeer(
      script,
      Deno.listenTls({
        hostname: "127.0.0.1",
        port: 0,
        cert: localhostPem,
        key: localhostKeyPem,
        alpnProtocols: ["h2", "http/1.1"],
      }),
    );
    await run(peer.port, transport);
    transport.close();
  } finally {
    transport.close();
    deadlines.close();
  }
}

const twice: Script = async (peer) => {
  while (await peer.request()) {
    await peer.say("HTTP/1.1 200 OK\r\ntransfer-encoding: chunked\r\n\r\n2\r\nok\r\n0\r\n\r\n");
  }
};

Deno.test("denoConnect: speaks HTTP/1.1 over TLS and keeps the connection", async () => {
  await withTlsPeer(twice, { caCerts: [caPem] }, async (port, transport) => {
    for (let turn = 0; turn < 3; turn++) {
      const answer = await call(transport, { url: `https://localhost:${port}/` });
      assertEquals(new TextDecoder().decode(answer.body), "ok");
    }
    assertEquals(transport.counts(), { opened: 1, reused: 2, retried: 0, idle: 1 });
  });
});

Deno.test("denoConnect: refuses a certificate nobody vouches for, or of another name", async () => {
  await withTlsPeer(twice, {}, async (port, transport) => {
    const url = `https://localhost:${port}/`;
    assertEquals(await failureCode(call(transport, { url })), "connect");
  });
  await withTlsPeer(twice, { caCerts: [caPem] }, async (port, transport) => {
    const url = `https://127.0.0.1:${port}/`;
    assertEquals(await failureCode(call(transport, { url })), "connect");
  });
});

Deno.test("denoConnect: a body until close that TLS does not end cleanly is a cut", async () => {
  const unfinished: Script = async (peer) => {
    await peer.request();
    await peer.say("HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\nhalf");
  };
  await withTlsPeer(unfinished, { caCerts: [caPem] }, async (port, transport) => {
    const url = `https://localhost:${port}/`;
    assertEquals(await failureCode(call(transport, { url })), "cut");
  });
});

Deno.test("denoConnect: a handshake that hangs ends with the time to connect, or by cancel", async () => {
  const deadlines = new Deadlines({ clock: systemClock, tickMs: 10 });
  const transport = createHttp1Transport({ connect: denoConnect(), deadlines, connectMs: 60 });
  {
    await using peer = new RawPeer((peer) => peer.clientGone());
    const url = `https://127.0.0.1:${peer.port}/`;
    assertEquals(await failureCode(call(transport, { url })), "connect");
    const exchange = transport.open({ method: "GET", url, headers: [], body: null });
    exchange.cancel();
    assertEquals(await failureCode(exchange.response), "cancelled");
  }
  transport.close();
  deadlines.close();
});

/** Connects until it cannot, and prints why. */
const connectUntilTheEnd = (port: number) => `
  const { denoConnect } = await import(${
  JSON.stringify(import.meta.resolve("../../../routes/process/deno_connect.ts"))
});
  const connect = denoConnect();
  const target = { hostname: "127.0.0.1", port: ${port}, tls: false };
  const open = [];
  try {
    while (open.length < 200) open.push(await connect(target, new AbortController().signal));
  } catch ({ name, code }) {
    console.log(name, code);
  }
  Deno.exit();
`;

Deno.test({
  name: "a machine that can open no further connection is not the peer's fault",
  ignore: !canLimit(),
  fn: async () => {
    using listener = Deno.listen({ hostname: "127.0.0.1", port: 0 });
    const args = ["--nofile=64", Deno.execPath(), "eval", connectUntilTheEnd(listener.addr.port)];
    const { stdout } = await new Deno.Command("prlimit", { args, stderr: "null" }).output();
    assertEquals(new TextDecoder().decode(stdout), "UpstreamFailure shortage\n");
  },
});
