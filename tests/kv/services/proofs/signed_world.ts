import { signSealedDays } from "../../../../kv/services/proofs/signed_days.ts";
import { BooksWorld } from "../../../support/worlds/books_world.ts";

export const origin = "https://gw.example";

/** Signs what is sealed. */
export const sign = (world: BooksWorld, masterKeys = world.masterKeys) =>
  signSealedDays(world.kv, { masterKeys, origin, nowMs: world.nowMs });

/**
 * A world whose three days that are over are sealed, one night after the other, and signed.
 *
 * @param callsOfSecondDay further calls of the second day, for a tree of several chunks
 */
export async function signedWorld(callsOfSecondDay = 0): Promise<BooksWorld> {
  const world = await BooksWorld.open();
  await world.topUp(world.ann, 10_000n);
  await world.topUp(world.bob, 10_000n);
  for (let day = 0; day < 4; day++) {
    if (day > 0) {
      world.nextDay();
      await world.verify();
      await sign(world);
    }
    for (const cost of [10n, 20n]) {
      await world.call(world.ann, cost);
      await world.call(world.bob, cost);
    }
    if (day !== 1) continue;
    for (let call = 0; call < callsOfSecondDay; call++) {
      world.advance(1);
      await world.settle(world.bob, 1n);
    }
    await world.wallet.indexOnce();
  }
  return world;
}
