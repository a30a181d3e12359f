import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeContainer } from '../../container/describe-container.ts';
import { bootProduction, type ProductionBox, UNIT } from './production-box.ts';

/** Moments at which the tuner is killed; `NIGHTSWEEP_KILLS=30` for a longer run. */
const KILLS = Number(process.env['NIGHTSWEEP_KILLS'] ?? 4);
const LEASE_SECONDS = 3;

describeContainer('a tuner that is killed with -9 and never comes back', () => {
  let machine: ProductionBox;

  beforeAll(async () => {
    machine = await bootProduction();
  }, 120_000);

  afterAll(async () => {
    await machine[Symbol.asyncDispose]();
  });

  test.each(Array.from({ length: KILLS }, (_, i) => i))(
    'leaves production serving its own configuration (kill %i)',
    async () => {
      const program = join(import.meta.dirname, 'tuner-program.ts');
      const { box, port } = machine;
      const args = [box.sshConfigPath, UNIT, String(port), String(LEASE_SECONDS), box.folder];
      const tuner = spawn(process.execPath, ['--import', 'tsx', program, ...args], {
        stdio: ['ignore', 'pipe', 'inherit'],
      });
      const ended = once(tuner, 'exit');
      // Any moment from the first connection to the middle of the third trial.
      await sleep(500 + Math.random() * 6000);
      tuner.kill('SIGKILL');
      await ended;
      // What a tuner wrote before it armed the timer changes nothing and may stay.
      const force = () =>
        box.inside(
          'sh',
          '-c',
          `ls /run/systemd/system/${UNIT}.d 2>/dev/null; systemctl list-units --no-legend 'nightsweep*'`,
        );
      await expect.poll(force, { timeout: 30_000, interval: 200 }).toBe('');
      await expect.poll(machine.answer, { timeout: 20_000 }).toMatchObject({
        argv: machine.argv.slice(2),
        env: machine.environment,
      });
      expect(box.inside('systemctl', 'show', UNIT, '-p', 'Restart,DropInPaths,UnitFileState')).toBe(
        'Restart=always\nDropInPaths=\nUnitFileState=enabled\n',
      );
    },
  );
});
