/** Reads what the calls of some models used in some days, over all accounts: from day sums, never from receipts. */
import { dayCopiesRange, dayCopyOf } from "../../engine/schema/keys.ts";
import type { KeyValueStore } from "../../engine/store/key_value_store.ts";
import { listBatchRows } from "../../engine/store/read_ahead.ts";
import { addUsage, type DayRange, type UsageSum, usageSum } from "../receipts/day_sums.ts";

/** Most rows of a period that are read: a second or two. */
const maxSumRows = 200_000;

/** The sums of models. */
export interface ModelSums {
  /** Models without calls are absent. */
  readonly byModel: ReadonlyMap<string, UsageSum>;
  /** Set if there were more rows than the bound: the sums are too low. */
  readonly isPartial: boolean;
}

/** Reads the sums of models. Without a cost in the catalogue there are none. */
export async function readModelSums(
  kv: KeyValueStore,
  range: DayRange,
  models: ReadonlySet<string>,
): Promise<ModelSums> {
  const byModel = new Map<string, UsageSum>();
  let rows = 0;
  const page = { limit: maxSumRows, batchSize: listBatchRows };
  for await (const { key, value } of kv.list<unknown>(dayCopiesRange(range), page)) {
    rows++;
    const { model } = dayCopyOf(key);
    if (!models.has(model)) continue;
    const before = byModel.get(model);
    const sum = usageSum(value);
    byModel.set(model, before === undefined ? sum : addUsage(before, sum));
  }
  return { byModel, isPartial: rows >= maxSumRows };
}
