/**
 * Counts the promises that a process creates. Loaded by `--preload` into the gateway under test; appends the number
 * since the start to the file that `BENCH_WATCH` names.
 *
 * The hooks are the runtime's own, for its diagnostics, and not public: where they are missing nothing is written.
 */

interface PromiseHooks {
  setPromiseHooks(
    init: () => void,
    before: () => void,
    after: () => void,
    resolve: () => void,
  ): void;
}

function hasHooks(value: unknown): value is PromiseHooks {
  return typeof value === "object" && value !== null && "setPromiseHooks" in value &&
    typeof value.setPromiseHooks === "function";
}

const reportMs = 200;

function watch(file: string): void {
  const internal: unknown = Reflect.get(Deno, Reflect.get(Deno, "internal"));
  const core: unknown = typeof internal === "object" && internal !== null
    ? Reflect.get(internal, "core")
    : undefined;
  if (!hasHooks(core)) return;
  let promises = 0;
  const ignore = () => {};
  core.setPromiseHooks(() => promises++, ignore, ignore, ignore);
  const interval = setInterval(() => {
    Deno.writeTextFileSync(file, `${promises}\n`, { append: true });
  }, reportMs);
  // Otherwise the preload would not end, and the program would not begin.
  Deno.unrefTimer(interval);
}

const file = Deno.env.get("BENCH_WATCH");
if (file !== undefined) {
  Deno.writeTextFileSync(file, "0\n");
  watch(file);
}
