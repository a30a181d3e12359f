import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { UserError } from '../../../src/errors.ts';
import { openSshHost } from '../../../src/host/ssh-host.ts';
import { openSystemd } from '../../../src/server/systemd-access.ts';
import { holdUnit } from '../../../src/server/systemd-hold.ts';
import { readJournal } from '../../../src/server/systemd-journal.ts';
import { loadUnit } from '../../../src/server/systemd-load-unit.ts';
import { lockOwner, releaseLock, takeLock, thisTuner } from '../../../src/server/systemd-lock.ts';
import { preflightSystemd } from '../../../src/server/systemd-preflight.ts';
import { restoreProduction } from '../../../src/server/systemd-restore.ts';
import { describeContainer } from '../../container/describe-container.ts';
import {
  bootProduction,
  type ProductionBox,
  type ProductionOptions,
  UNIT,
} from './production-box.ts';

describeContainer('restore of a systemd target', () => {
  let machine: ProductionBox | undefined;

  async function boot(options: ProductionOptions = {}): Promise<ProductionBox> {
    machine = await bootProduction(options);
    return machine;
  }

  afterEach(async () => {
    await machine?.[Symbol.asyncDispose]();
    machine = undefined;
  });

  const production = (box: ProductionBox) => ({ argv: box.argv.slice(2), env: box.environment });
  const trial = (box: ProductionBox) =>
    box.request({
      argv: [...box.argv.slice(0, -1), 'trial'],
      environment: { ...box.environment, A: 'trial' },
    });

  function nothingLeft(box: ProductionBox): void {
    const left = box.box.inside(
      'sh',
      '-c',
      `find /run/nightsweep /run/systemd -path '*nightsweep*' -type f; systemctl list-units --all --plain --no-legend 'nightsweep*'`,
    );
    expect(left.replaceAll(/^.*\/restored$\n/gm, '')).toBe('');
  }

  test('when nobody renews the lease, the target brings production back by itself', async () => {
    const box = await boot();
    const { target } = await box.take({ leaseSeconds: 4 });
    await target.start(trial(box));
    await expect
      .poll(box.answer)
      .toMatchObject({ argv: expect.arrayContaining(['trial']) as unknown });
    box.box.inside('systemd-run', '--quiet', `--unit=${loadUnit(box.access)}`, 'sleep', '4800');
    await box.host[Symbol.asyncDispose]();
    await expect.poll(box.answer, { timeout: 25_000 }).toMatchObject(production(box));
    await expect
      .poll(() => box.box.inside('sh', '-c', `cat /run/nightsweep/${UNIT}/restored || true`), {
        timeout: 10_000,
      })
      .toMatch(/^lease/);
    expect(box.box.inside('sh', '-c', 'pgrep -f "sleep 4800$" || true')).toBe('');
    expect(box.box.inside('systemctl', 'show', UNIT, '-p', 'Restart').trim()).toBe(
      'Restart=always',
    );
    await expect
      .poll(() => {
        nothingLeft(box);
        return true;
      })
      .toBe(true);
  });

  test('a held lease keeps the trial far beyond its length', async () => {
    const box = await boot();
    const { target, lease } = await box.take({ leaseSeconds: 3 });
    lease.hold();
    const server = await target.start(trial(box));
    await sleep(8000);
    expect(await box.ask()).toMatchObject({ pid: server.pid });
    await server.stop();
    await lease.release();
  });

  test('a phase that outlasts its deadline is not kept alive by a tuner that still renews', async () => {
    const box = await boot();
    const { target, lease } = await box.take({ leaseSeconds: 3 });
    lease.enterPhase(1);
    lease.hold();
    const server = await target.start(trial(box));
    await expect.poll(box.answer, { timeout: 25_000 }).toMatchObject(production(box));
    expect((await server.exited).requested).toBe(false);
    await lease.release();
  });

  test('a tuner that comes back after its lease ran out may not start anything', async () => {
    const box = await boot();
    const { target, owner } = await box.take({ leaseSeconds: 3 });
    await (await target.start(trial(box))).exited;
    await expect.poll(box.answer, { timeout: 25_000 }).toMatchObject(production(box));
    await expect.poll(async () => lockOwner(box.access)).toBeUndefined();
    const { pid } = await box.ask();
    await expect(target.start(trial(box))).rejects.toThrow(/not ours any more/);
    expect((await box.ask()).pid).toBe(pid);
    await takeLock(box.access, owner, { nowMs: 0 });
    expect((await lockOwner(box.access))?.id).toBe(owner.id);
  });

  test('after a reboot the unit is taken again, and production is not stopped for the launch that was lost', async () => {
    const box = await boot();
    const held = await holdUnit(box.access, {
      study: 'reboot',
      production: { environment: box.environment },
      leaseSeconds: 300,
      clock: systemClock,
    });
    const server = await held.target.start(trial(box));
    await box.box.reboot();
    await expect.poll(box.answer, { timeout: 25_000 }).toMatchObject(production(box));
    const { pid } = await box.ask();
    expect(await server.stop()).toMatchObject({ clean: true });
    expect((await box.ask()).pid).toBe(pid);

    expect(await held.regain()).toBe(true);
    expect(await held.regain()).toBe(false);
    const next = await held.target.start(trial(box));
    await expect.poll(box.answer).toMatchObject({ pid: next.pid });
    await next.stop();
    expect(await held.giveBack()).toMatchObject({ problems: [] });
    await expect.poll(box.answer).toMatchObject(production(box));
    nothingLeft(box);
  });

  test('any machine with access restores, from the journal on the target alone', async () => {
    const box = await boot();
    const { target } = await box.take();
    await target.start(trial(box));
    const host = await openSshHost('box', { configPath: box.box.sshConfigPath });
    const access = await openSystemd({ host, unit: UNIT });
    const report = await restoreProduction(access, { clock: systemClock });
    expect(report).toMatchObject({ problems: [], edits: [] });
    expect(report.steps).toEqual([
      expect.stringMatching(/^removed .*zzzz-nightsweep\.conf$/),
      `restarted ${UNIT}`,
      expect.stringMatching(/^released the lock of /),
    ]);
    await expect.poll(box.answer).toMatchObject(production(box));
    nothingLeft(box);
    await host[Symbol.asyncDispose]();
  });

  test('a second restore changes nothing, not even the process', async () => {
    const box = await boot();
    const { target, journal } = await box.take();
    await target.start(trial(box));
    await restoreProduction(box.access, { clock: systemClock });
    await expect.poll(box.answer).toMatchObject(production(box));
    const { pid } = await box.ask();
    const again = await restoreProduction(box.access, { journal, clock: systemClock });
    expect(again).toMatchObject({ steps: [], problems: [], edits: [] });
    expect((await box.ask()).pid).toBe(pid);
  });

  test('a production that did not run before does not run after', async () => {
    const box = await boot();
    box.box.inside('systemctl', 'stop', UNIT);
    const { target } = await box.take();
    await (await target.start(trial(box))).stop();
    await target.start(trial(box));
    expect(await restoreProduction(box.access, { clock: systemClock })).toMatchObject({
      problems: [],
    });
    expect(await box.answer()).toMatch(/fetch failed/);
  });

  test('a unit edited during the sweep stops it, is not overwritten, and is said (D15, U9)', async () => {
    const box = await boot();
    const { target, journal } = await box.take();
    await (await target.start(trial(box))).stop();
    const path = `/etc/systemd/system/${UNIT}`;
    const edited = box.box.inside('cat', path).replace('--mode production', '--mode edited');
    box.box.put(path, edited);
    await expect(target.start(trial(box))).rejects.toThrow(`${path} was edited`);
    const report = await restoreProduction(box.access, { journal, clock: systemClock });
    expect(report).toMatchObject({ edits: [`${path} was edited`], problems: [] });
    expect(box.box.inside('cat', path)).toBe(edited);
    await expect
      .poll(box.answer)
      .toMatchObject({ argv: expect.arrayContaining(['edited']) as unknown });
  });

  test("a user's own override with its own ExecStart is what comes back", async () => {
    const override = `/etc/systemd/system/${UNIT}.d/override.conf`;
    const box = await boot();
    const text = `[Service]\nExecStart=\nExecStart=/usr/bin/python3 /opt/serve.py --port ${box.port} --mode overridden\n`;
    box.box.put(override, text);
    box.box.inside('systemctl', 'daemon-reload');
    box.box.inside('systemctl', 'restart', UNIT);
    await expect
      .poll(box.answer)
      .toMatchObject({ argv: expect.arrayContaining(['overridden']) as unknown });
    const { target } = await box.take();
    await target.start(trial(box));
    await expect
      .poll(box.answer)
      .toMatchObject({ argv: expect.arrayContaining(['trial']) as unknown });
    expect(await restoreProduction(box.access, { clock: systemClock })).toMatchObject({
      problems: [],
      edits: [],
    });
    await expect
      .poll(box.answer)
      .toMatchObject({ argv: expect.arrayContaining(['overridden']) as unknown });
    expect(box.box.inside('cat', override)).toBe(text);
  });

  test('a reboot in the middle brings production back, and restore finds all as before', async () => {
    const box = await boot();
    const { target, journal } = await box.take();
    await target.start(trial(box));
    await box.box.reboot();
    await expect.poll(box.answer, { timeout: 20_000 }).toMatchObject(production(box));
    const report = await restoreProduction(box.access, { journal, clock: systemClock });
    expect(report).toMatchObject({ steps: [], problems: [], edits: [] });
  });

  test('a restore that finds production not serving says so and keeps timer and journal', async () => {
    const box = await boot();
    const { target } = await box.take();
    await target.start(trial(box));
    const report = await restoreProduction(box.access, {
      clock: systemClock,
      proveServing: async () => Promise.reject(new UserError('no completion')),
    });
    expect(report.problems).toEqual(['it does not serve: no completion']);
    expect(await readJournal(box.access)).toBeDefined();
  });

  test('a second sweep is refused with owner, age and lease, and takes over on request', async () => {
    const box = await boot();
    await box.take({ leaseSeconds: 600 });
    const other = {
      ...(await thisTuner('other', Date.now())),
      machineId: 'another',
      who: 'bob@laptop',
    };
    const refusal = takeLock(box.access, other, { nowMs: Date.now() + 600_000 });
    await expect(refusal).rejects.toThrow(
      /held by .*study test, for 10 min; its lease runs for another \d+ s/,
    );
    await takeLock(box.access, other, { nowMs: Date.now(), takeOver: true });
    expect((await lockOwner(box.access))?.who).toBe('bob@laptop');
    await releaseLock(box.access, other);
    expect(await lockOwner(box.access)).toBeUndefined();
  });

  test('of ten tuners that take the unit at the same moment one gets it', async () => {
    const box = await boot();
    const outcomes = await Promise.allSettled(
      Array.from({ length: 10 }, async (_, i) => {
        const owner = { ...(await thisTuner('race', 0)), machineId: `machine-${i}` };
        await takeLock(box.access, owner, { nowMs: 0 });
        return owner.id;
      }),
    );
    const winners = outcomes.flatMap((outcome) =>
      outcome.status === 'fulfilled' ? [outcome.value] : [],
    );
    expect(winners).toEqual([(await lockOwner(box.access))?.id]);
  });

  test('a lock whose process of this machine has ended is taken over by itself', async () => {
    const box = await boot();
    const ended = spawn('true');
    await once(ended, 'exit');
    const dead = { ...(await thisTuner('dead', 0)), pid: ended.pid ?? 0 };
    await takeLock(box.access, dead, { nowMs: 0 });
    const next = await thisTuner('next', 0);
    await takeLock(box.access, next, { nowMs: 0 });
    expect((await lockOwner(box.access))?.study).toBe('next');
  });

  test('preflight refuses a unit on which an earlier sweep left its drop-in', async () => {
    const box = await boot();
    const { target } = await box.take();
    await (await target.start(trial(box))).stop();
    const checks = await preflightSystemd(box.access, { leaseSeconds: 900 });
    expect(checks.find(({ name }) => name === 'drop-ins')).toMatchObject({ state: 'failed' });
    expect(await target.cleanUp()).toContainEqual(expect.stringMatching(/^removed /));
    await expect.poll(box.answer).toMatchObject(production(box));
    expect(await target.cleanUp()).toEqual([]);
  });
});
