/**
 * CPU time and memory of a process, and use of the processors, from the kernel. Linux only, like the rest of the
 * benchmark.
 */

/** Kernel ticks per second; 100 on every Linux that Deno runs on. */
const ticksPerSecond = 100;

/** User and system time so far, all threads, in µs. */
export function cpuMicros(pid: number): number {
  // The name in parentheses may hold spaces; fields are counted behind it (proc(5): utime is 14, stime 15).
  const fields = Deno.readTextFileSync(`/proc/${pid}/stat`).split(") ").at(-1)?.split(" ") ?? [];
  return (Number(fields[11]) + Number(fields[12])) * (1_000_000 / ticksPerSecond);
}

/** Resident memory in bytes. */
export function residentBytes(pid: number): number {
  const line = /^VmRSS:\s+(\d+) kB$/m.exec(Deno.readTextFileSync(`/proc/${pid}/status`));
  return Number(line?.[1] ?? 0) * 1024;
}

/** Of all processors, since the start of the machine: ticks that its host gave to others, and all ticks. */
export function stolenTicks(): { readonly stolen: number; readonly all: number } {
  // proc_stat(5): user, nice, system, idle, iowait, irq, softirq, steal; what guests used is in user and nice already.
  const line = Deno.readTextFileSync("/proc/stat").split("\n", 1)[0] ?? "";
  const ticks = line.trim().split(/\s+/).slice(1, 9).map(Number);
  return { stolen: ticks[7] ?? 0, all: ticks.reduce((sum, count) => sum + count, 0) };
}
