import { once } from 'node:events';
import { chmod, readFile, writeFile } from 'node:fs/promises';
import { createServer } from 'node:net';
import { join } from 'node:path';
import { fileURLToPath } from 'node:url';
import { afterEach, describe, expect, test } from 'vitest';
import { startCli } from '../helpers/run-cli.ts';
import {
  type SimulatedStudy,
  type StudyParts,
  simulatedStudy,
} from '../helpers/simulated-study.ts';
import { startLimited } from '../helpers/start-limited.ts';
import { exported, points } from '../helpers/study-export.ts';

const NVIDIA_SMI = fileURLToPath(new URL('../fixtures/servers/nvidia-smi.mjs', import.meta.url));
const parts: StudyParts = { parameters: { 'schedule-policy': ['fcfs', 'lpm'] } };

let study: SimulatedStudy | undefined;

afterEach(async () => {
  await study?.[Symbol.asyncDispose]();
  study = undefined;
});

/** A study whose servers hold GPU memory that a scripted nvidia-smi shows. */
async function onGpu(release: string, start: StudyParts['start'] = {}) {
  const made = await simulatedStudy(parts);
  study = made;
  const gpuFile = join(made.folder, 'gpu.jsonl');
  await made.write({
    ...parts,
    start,
    switches: ['--sim-gpu-file', gpuFile, '--sim-gpu-release', release],
  });
  const program = join(made.folder, 'nvidia-smi');
  await writeFile(program, `#!/bin/sh\nexec '${process.execPath}' '${NVIDIA_SMI}' "$@"\n`);
  await chmod(program, 0o755);
  const environment = { PATH: `${made.folder}:${process.env['PATH'] ?? ''}`, GPU_FILE: gpuFile };
  const sweep = (...more: string[]) =>
    startCli(['sweep', made.file, '--db', made.database, ...more], {
      cwd: made.folder,
      environment,
    }).result;
  return { study: made, gpuFile, sweep };
}

describe('GPU memory', () => {
  test('of a process that is not ours refuses the sweep with its name, and ends nothing (A4)', async () => {
    const { gpuFile, sweep } = await onGpu('0');
    const note = { pid: process.pid, name: 'sglang::scheduler_DP0', memory_mib: 100_352 };
    await writeFile(gpuFile, `${JSON.stringify({ ...note, release_seconds: null })}\n`);
    const { exitCode, stderr } = await sweep();
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`sglang::scheduler_DP0 (pid ${String(process.pid)}, 100352 MiB)`);
  });

  test('of others does not matter to who says so', async () => {
    const { study: made, gpuFile, sweep } = await onGpu('0');
    const note = { pid: process.pid, name: 'other', memory_mib: 500, release_seconds: null };
    await writeFile(gpuFile, `${JSON.stringify(note)}\n`);
    await sweep('--allow-gpu-processes');
    expect(points(await exported(made))).toEqual(['0@1', '0@4', '1@1', '1@4']);
  });

  test('that comes back late is waited for, and no trial fails of it (A2)', async () => {
    const { study: made, gpuFile, sweep } = await onGpu('3');
    await sweep();
    expect(points(await exported(made))).toEqual(['0@1', '0@4', '1@1', '1@4']);
    expect((await readFile(gpuFile, 'utf8')).split('\n').filter(Boolean)).toHaveLength(1);
  });

  test('that is never given back ends the sweep with who holds it, and what was measured stays (A2)', async () => {
    const { study: made, sweep } = await onGpu('never', { gpu_release: '2s' });
    const { exitCode, stderr } = await sweep();
    expect(exitCode).toBe(2);
    expect(stderr).toMatch(/GPU memory was not given back within 2 s: .*pid \d+/);
    expect(points(await exported(made))).toEqual(['0@1', '0@4']);
  });
});

describe('before anything is touched', () => {
  test('a taken port is refused with who listens on it, and no database is made', async () => {
    study = await simulatedStudy(parts);
    const other = createServer().listen(study.port, '127.0.0.1');
    await once(other, 'listening');
    const { exitCode, stderr } = await study.run('sweep');
    other.close();
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`port ${String(study.port)} is taken: pid ${String(process.pid)}`);
    await expect(readFile(study.database)).rejects.toThrow('ENOENT');
  });

  test('a base_url on another machine is refused for a server that is started here', async () => {
    // TEST-NET-1: belongs to nobody (RFC 5737).
    study = await simulatedStudy(parts);
    const elsewhere = `http://192.0.2.7:${String(study.port)}`;
    await study.write({ ...parts, target: { base_url: elsewhere } });
    const { exitCode, stderr } = await study.run('sweep');
    expect(exitCode).toBe(2);
    expect(stderr).toContain(`${elsewhere} is not on this machine`);
    await expect(readFile(study.database)).rejects.toThrow('ENOENT');
  });

  test('512 in flight with 256 open files are refused (E12)', async () => {
    study = await simulatedStudy({ ...parts, profile: { 512: 1 } });
    const { exitCode, stderr } = await startLimited(256, [
      'sweep',
      study.file,
      '--db',
      study.database,
    ]);
    expect(exitCode).toBe(2);
    expect(stderr).toContain('512 requests in flight need 576 open files, 256 are allowed');
    await expect(readFile(study.database)).rejects.toThrow('ENOENT');
  });
});
