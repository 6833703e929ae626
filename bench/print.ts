/** Lines to standard output: for people from `main.ts`, for its parent from a child process. */
const encoder = new TextEncoder();

export function print(line = ""): void {
  const bytes = encoder.encode(line + "\n");
  for (let rest = bytes; rest.length > 0;) rest = rest.subarray(Deno.stdout.writeSync(rest));
}
