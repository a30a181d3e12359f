import { appendFileSync } from 'node:fs';

/** What a simulated server holds of GPU 0 while it runs, as weights and cache of a large model do. */
const HELD_MIB = 90_000;

/**
 * Notes in `path` that this process holds GPU memory, one JSON object a line. A scripted nvidia-smi
 * reads it: memory counts while the process lives and `releaseSeconds` longer (null: for ever).
 */
export function noteGpuUse(path: string, releaseSeconds: number): void {
  const note = {
    pid: process.pid,
    name: 'sglang::scheduler_TP0',
    memory_mib: HELD_MIB,
    release_seconds: Number.isFinite(releaseSeconds) ? releaseSeconds : null,
  };
  appendFileSync(path, `${JSON.stringify(note)}\n`);
}
