/** The memory of another process, on Linux. */
export async function residentMegabytes(pid: number): Promise<number> {
  const status = await Deno.readTextFile(`/proc/${pid}/status`);
  return Math.round(Number(/VmRSS:\s+(\d+) kB/.exec(status)?.[1]) / 1024);
}

/** Runs `work` and returns the peak memory of the process during it. */
export async function peakDuring(pid: number, work: Promise<unknown>): Promise<number> {
  let done = false;
  const finished = work.finally(() => done = true);
  let peak = 0;
  while (!done) {
    peak = Math.max(peak, await residentMegabytes(pid));
    await Promise.race([finished.catch(() => {}), new Promise((wake) => setTimeout(wake, 20))]);
  }
  await finished;
  return peak;
}
