/** A whole gateway behind a socket, with an operator whose session has passed the second factor. */
import { createAccount, findAccountByEmail } from "../../../kv/people/accounts/accounts.ts";
import {
  getSecondFactor,
  offerSecondFactor,
  passSecondFactor,
} from "../../../kv/people/accounts/second_factor.ts";
import { openSession } from "../../../kv/people/accounts/sessions.ts";
import { createApp } from "../../../routes/server/listen/app.ts";
import { openCustomerApp } from "../../../routes/server/assembly/customer_app.ts";
import {
  openTestGateway,
  type TestGateway,
  type TestGatewayOptions,
} from "../gateways/gateway_in_process.ts";

/** The operator's address. */
export const operatorEmail = "van.hanh@example.com";

export interface OperatedGateway extends AsyncDisposable {
  readonly gateway: TestGateway;
  readonly address: string;
  /** Cookie of the operator's browser. */
  readonly operatorToken: string;
}

/** Opens a session of an operator that has passed the second factor. Returns its cookie. */
export async function operatorSession(
  { kv, assembled: { gateway: { clock } } }: Pick<TestGateway, "kv" | "assembled">,
  email: string,
): Promise<string> {
  const nowMs = clock.nowMs();
  const { id } = await findAccountByEmail(kv, email) ?? await createAccount(kv, { nowMs, email });
  const { token, session } = await openSession(kv, {
    accountId: id,
    nowMs,
    method: "password",
    device: "test",
    address: "127.0.0.1",
  });
  await offerSecondFactor(kv, id, "sealed", nowMs);
  const operator = { accountId: id, email };
  const passed = { operator, sessionId: session.id, step: 1, nowMs };
  const factor = await getSecondFactor(kv, id);
  if (factor.value === null || !await passSecondFactor(kv, factor, passed)) {
    throw new Error("the second factor was not passed");
  }
  return token;
}

/** Opens it, with the catalogue of a fresh install or another. */
export async function openOperatedGateway(
  options: Pick<TestGatewayOptions, "file"> = {},
): Promise<OperatedGateway> {
  const gateway = await openTestGateway({ ...options, env: { GATEWAY_OPERATORS: operatorEmail } });
  const ready = Promise.withResolvers<ReturnType<typeof createApp>>();
  const server = Deno.serve(
    { port: 0, hostname: "127.0.0.1", onListen: () => {} },
    async (request) => await (await ready.promise).fetch(request, { clientAddress: "127.0.0.1" }),
  );
  const address = `http://127.0.0.1:${server.addr.port}`;
  const customerApp = openCustomerApp(gateway.assembled.gateway, {
    masterKeys: gateway.masterKeys,
    baseUrl: address,
    write: () => {},
  });
  ready.resolve(createApp(gateway.assembled.gateway, { stopping: () => false, customerApp }));
  return {
    gateway,
    address,
    operatorToken: await operatorSession(gateway, operatorEmail),
    async [Symbol.asyncDispose]() {
      await server.shutdown();
      await gateway[Symbol.asyncDispose]();
    },
  };
}
