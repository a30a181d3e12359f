import { copyFileSync, readdirSync, readFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeContainer } from '../container/describe-container.ts';
import { rows } from '../helpers/database.ts';
import type { CliResult, RunningCli } from '../helpers/run-cli.ts';
import { type SystemdStudy, served, systemdStudy } from '../helpers/systemd-study.ts';

const TEST_MS = 180_000;
const DROP_IN = '/etc/systemd/system/sglang.service.d/zz-nightsweep.conf';

describeContainer('a recommendation that is put into production', () => {
  let machine: SystemdStudy;
  /** Production before anything was applied. */
  let before = '';
  let measured = '';

  beforeAll(async () => {
    // Far apart and slow, so that a busy machine drowns neither what they differ by nor the client.
    machine = await systemdStudy({
      running: 4,
      speed: 8,
      lease: '6s',
      study: {
        profile: { 16: 1 },
        parameters: { 'max-running-requests': [1, 4, 16] },
        measure: { launches: 1, warm_up: { requests: 1 } },
      },
    });
    const { exitCode, stdout, stderr } = await machine.start(
      ...['sweep', machine.file, '--db', machine.database],
    ).result;
    expect([0, 3], stdout + stderr).toContain(exitCode);
    before = machine.production();
    measured = join(machine.box.folder, 'measured.sqlite');
    copyFileSync(machine.database, measured);
  }, TEST_MS);

  afterAll(() => machine[Symbol.asyncDispose]());

  const recommend = (...words: string[]): RunningCli =>
    machine.start('recommend', machine.file, '--db', machine.database, ...words);
  const told = ({ stdout, stderr }: CliResult) => stdout + stderr;

  /** Number of the trial with this running limit. */
  function trialOf(running: number): string {
    const found = rows(machine.database, 'SELECT number, assignment FROM trials');
    const row = found.find(({ assignment }) => String(assignment).includes(`":${running}}`));
    return String(row?.['number']);
  }

  async function until(what: string, isSo: () => boolean): Promise<void> {
    const deadline = Date.now() + 60_000;
    while (!isSo()) {
      if (Date.now() > deadline) throw new Error(`no ${what} within a minute`);
      await sleep(50);
    }
  }

  test(
    'that is worse than the baseline is taken back, and production serves as before',
    async () => {
      const result = await recommend('--apply', '--trial', trialOf(1)).result;
      expect(result.exitCode, told(result)).toBe(2);
      expect(result.stderr).toContain('taken back: it is slower than the baseline');
      expect(machine.production()).toBe(before);
      expect(await machine.complete()).toBe(200);
    },
    TEST_MS,
  );

  test(
    'is taken back at Ctrl-C',
    async () => {
      const running = recommend('--apply', '--trial', trialOf(16));
      await until('new command', () => machine.command().includes('--max-running-requests 16'));
      running.kill('SIGINT');
      const result = await running.result;
      expect(result.exitCode, told(result)).toBe(130);
      expect(machine.production()).toBe(before);
      expect(await machine.complete()).toBe(200);
    },
    TEST_MS,
  );

  test(
    'is taken back by the machine when the tuner is killed in the middle',
    async () => {
      const running = recommend('--apply', '--trial', trialOf(16));
      await until('new command', () => machine.command().includes('--max-running-requests 16'));
      running.kill('SIGKILL');
      await running.result;
      await until('restored command', () => before.endsWith(machine.command()));
      await served(machine, 30);
      // The timer's script leaves a line about what it did, for whoever comes back.
      const left = () => machine.production().replace(/^.*\/restored\n/m, '');
      await until('production as it was', () => left() === before);
    },
    TEST_MS,
  );

  test(
    'is in force with one restart, outlives a reboot, is not applied twice, and is reverted',
    async () => {
      const applied = await recommend('--apply', '--trial', trialOf(16)).result;
      expect(applied.exitCode, told(applied)).toBe(0);
      expect(applied.stdout).toContain(`is in force: ${DROP_IN}`);
      expect(machine.command()).toContain('--max-running-requests 16');
      expect(machine.box.inside('cat', DROP_IN)).toContain('--max-running-requests 16');
      const copies = join(machine.box.folder, 'night');
      const [copy = ''] = readdirSync(copies).filter((name) => name.startsWith('production-'));
      expect(readFileSync(join(copies, copy, 'sglang.service'), 'utf8')).toBe(
        machine.box.inside('cat', '/etc/systemd/system/sglang.service'),
      );
      await machine.box.reboot();
      await served(machine, 60);
      expect(machine.command()).toContain('--max-running-requests 16');

      const again = await recommend('--apply', '--trial', trialOf(16)).result;
      expect(again.exitCode, told(again)).toBe(0);
      expect(again.stdout).toContain('is in force already');
      const other = await recommend('--apply', '--trial', trialOf(1)).result;
      expect(other.exitCode, told(other)).toBe(2);
      expect(other.stderr).toContain('--revert');

      const reverted = await recommend('--revert').result;
      expect(reverted.exitCode, told(reverted)).toBe(0);
      machine.box.inside('rm', `${DROP_IN}.reverted`);
      expect(machine.production()).toBe(before);
      expect(await machine.complete()).toBe(200);
      const none = await recommend('--revert').result;
      expect(none.exitCode, told(none)).toBe(2);
      expect(none.stderr).toContain('has no recommendation in force');
    },
    TEST_MS,
  );

  test(
    'of a unit that was edited since the sweep is refused, and nothing is restarted',
    async () => {
      const path = '/etc/systemd/system/sglang.service.d/new.conf';
      machine.box.put(path, '[Service]\nEnvironment=NEW=1\n');
      machine.box.inside('systemctl', 'daemon-reload');
      const now = machine.production();
      const result = await recommend('--apply', '--trial', trialOf(16)).result;
      machine.box.inside('rm', path);
      machine.box.inside('systemctl', 'daemon-reload');
      expect(result.exitCode, told(result)).toBe(2);
      expect(result.stderr).toContain('is not what study night measured');
      expect(now).toContain('new.conf');
      expect(machine.production()).toBe(before);
    },
    TEST_MS,
  );

  test('leaves what the study measured as it was', () => {
    const sql = 'SELECT * FROM measurements ORDER BY id';
    expect(rows(machine.database, sql)).toEqual(rows(measured, sql));
  });
});
