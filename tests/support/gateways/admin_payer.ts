/** An account with a key and money, made by the commands of `deno task admin` on any store. */
import { assertEquals } from "../assert.ts";
import type { StartedGateway } from "./started_gateway.ts";

export interface AdminPayer {
  readonly id: string;
  readonly keyId: string;
  readonly key: string;
}

/** Makes an account with a key and credits it. */
export async function newAdminPayer(
  { admin }: Pick<StartedGateway, "admin">,
  vnd: number,
): Promise<AdminPayer> {
  const { id } = JSON.parse((await admin("account", "create")).output);
  const made = JSON.parse((await admin("key", "create", id)).output);
  const { code, output } = await admin("credit", id, String(vnd), "--reason", "money to spend");
  assertEquals(code, 0, output);
  return { id, keyId: made.id, key: made.key };
}
