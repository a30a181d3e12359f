import { readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { FIRST_CONFIRMING_ROUND } from '../../src/ranking/phases.ts';
import { describeContainer } from '../container/describe-container.ts';
import { integrity, plannedKeys, rows } from '../helpers/database.ts';
import type { RunningCli } from '../helpers/run-cli.ts';
import { type SystemdStudy, served, systemdStudy } from '../helpers/systemd-study.ts';

/** One in flight at a time is production: of three trials the one with 8 is the finalist. */
const ALL_KEYS = [0, 1, 2].flatMap((trial) =>
  [0, FIRST_CONFIRMING_ROUND].flatMap((round) =>
    trial === 1 && round !== 0 ? [] : [1, 8].map((c) => `${trial}/${round}/${c}/0`),
  ),
);

/** A sweep is five launches, each with a dozen looks through ssh, on a machine that others use too. */
const TEST_MS = 180_000;

let machine: SystemdStudy;

afterEach(() => machine[Symbol.asyncDispose]());

function sweep(): RunningCli {
  return machine.start('sweep', machine.file, '--db', machine.database);
}

async function until(what: string, isSo: () => boolean, running?: RunningCli): Promise<void> {
  const deadline = Date.now() + 60_000;
  let ended: string | undefined;
  void running?.result.then(({ stdout, stderr }) => {
    ended = stdout + stderr;
  });
  while (!isSo()) {
    if (ended !== undefined) throw new Error(`it ended before ${what}:\n${ended}`);
    if (Date.now() > deadline) throw new Error(`no ${what} within a minute`);
    await sleep(50);
  }
}

/** A busy machine can drown the gain in noise: what is said and the exit code must agree. */
function exitCodeFor(stdout: string): number {
  return stdout.includes('keep what you have') ? 3 : 0;
}

describeContainer('a sweep of a systemd unit over ssh', () => {
  test(
    'measures every trial, recommends from the merged unit, and has production back',
    async () => {
      machine = await systemdStudy();
      const before = machine.production();
      const { exitCode, stdout, stderr } = await sweep().result;
      expect(exitCode, stdout + stderr).toBe(exitCodeFor(stdout));
      expect(plannedKeys(machine.database)).toEqual(ALL_KEYS);
      expect(machine.production()).toBe(before);
      expect(await machine.complete()).toBe(200);
      expect(stderr).toContain('production is back and serves');
      expect(stderr).toContain('the load comes from this machine, through ssh');

      const folder = join(machine.box.folder, 'recommended');
      const { stderr: problems } = await machine.start(
        ...['recommend', '--study', 'night', '--trial', '2', '--out', folder],
        ...['--db', machine.database],
      ).result;
      expect(problems).toBe('');
      // Drop-ins apply by name, and the unit has an override.conf.
      const dropIn = readFileSync(join(folder, 'zz-nightsweep.conf'), 'utf8');
      expect(dropIn).toContain('--max-running-requests 8');
      const unit = readFileSync(join(folder, 'recommended.service'), 'utf8');
      const old = machine.box.inside('cat', '/etc/systemd/system/sglang.service');
      expect(unit).toBe(old.replace('--max-running-requests 1', '--max-running-requests 8'));
      expect(stdout + stderr + dropIn).not.toContain('hf_production_secret');
    },
    TEST_MS,
  );

  test(
    'that is told to end in any phase exits with 130, and production is back (D15)',
    async () => {
      machine = await systemdStudy();
      const before = machine.production();
      for (const { signal, phase, after } of [
        { signal: 'SIGHUP', phase: 'loading', after: 'launch 1 ' },
        { signal: 'SIGTERM', phase: 'measuring', after: 'C=1 ' },
        { signal: 'SIGINT', phase: 'stopping', after: 'C=8 ' },
      ] as const) {
        const running = sweep();
        await until(phase, () => running.output().includes(after), running);
        await until('a trial in force', () => machine.production() !== before, running);
        running.kill(signal);
        const { exitCode, stderr } = await running.result;
        expect(exitCode, stderr).toBe(130);
        expect(stderr).toContain('go on with: nightsweep sweep');
        expect(machine.production(), phase).toBe(before);
        expect(await machine.complete()).toBe(200);
      }
    },
    TEST_MS,
  );

  test(
    'that was killed gives production back by its lease, and the same command goes on',
    async () => {
      machine = await systemdStudy({ lease: '6s' });
      const before = machine.production();
      const running = sweep();
      await until('a second launch', () => running.output().includes('launch 2 '), running);
      running.kill('SIGKILL');
      await running.result;
      const kept = rows(machine.database, 'SELECT id, started_at_ms FROM measurements');
      expect(kept.length).toBeGreaterThanOrEqual(2);
      // Nothing of a tuner runs any more: only the machine itself can do it.
      await until('restored command', () => before.endsWith(machine.command()));
      await served(machine, 30);

      const { exitCode, stdout, stderr } = await sweep().result;
      expect(exitCode, stdout + stderr).toBe(exitCodeFor(stdout));
      expect(stdout).toContain(`${kept.length} measurements kept`);
      expect(plannedKeys(machine.database)).toEqual(ALL_KEYS);
      expect(rows(machine.database, 'SELECT id, started_at_ms FROM measurements')).toEqual(
        expect.arrayContaining([...kept]),
      );
      expect(integrity(machine.database)).toBe('ok');
      expect(machine.production()).toBe(before);
    },
    TEST_MS,
  );

  test(
    'goes on at once where a killed one still has its trial in force',
    async () => {
      machine = await systemdStudy();
      const before = machine.production();
      const running = sweep();
      await until('a second launch', () => running.output().includes('launch 2 '), running);
      running.kill('SIGKILL');
      await running.result;
      expect(machine.production()).not.toBe(before);
      const { exitCode, stdout, stderr } = await sweep().result;
      expect(exitCode, stdout + stderr).toBe(exitCodeFor(stdout));
      expect(stderr).toContain('left by an interrupted sweep: removed');
      expect(plannedKeys(machine.database)).toEqual(ALL_KEYS);
      expect(machine.production()).toBe(before);
    },
    TEST_MS,
  );

  test(
    'that was killed is undone by restore, and doctor finds nothing in the way then (D15)',
    async () => {
      machine = await systemdStudy();
      const before = machine.production();
      const running = sweep();
      await until('a launch', () => running.output().includes('launch 1 '), running);
      await until('a trial in force', () => machine.production() !== before, running);
      running.kill('SIGKILL');
      await running.result;
      const held = await machine.start('doctor', machine.file, '--db', machine.database).result;
      expect(held.exitCode, held.stdout + held.stderr).toBe(2);
      expect(held.stdout).toContain('nightsweep restore');

      const restored = await machine.start('restore', '--unit', 'sglang.service', '--ssh', 'box')
        .result;
      expect(restored.exitCode, restored.stdout + restored.stderr).toBe(0);
      expect(restored.stdout).toContain('production is as it was before the sweep');
      expect(machine.production()).toBe(before);
      expect(await machine.complete()).toBe(200);

      const free = await machine.start('doctor', machine.file, '--db', machine.database).result;
      expect(free.exitCode, free.stdout + free.stderr).toBe(0);
      expect(free.stdout).not.toContain('FAIL');
    },
    TEST_MS,
  );
});
