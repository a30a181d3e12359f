import { readFileSync, writeFileSync } from 'node:fs';
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { openSshHost } from '../../../src/host/ssh-host.ts';
import { openSystemd, type SystemdAccess } from '../../../src/server/systemd-access.ts';
import { holdUnit } from '../../../src/server/systemd-hold.ts';
import {
  installCommands,
  permanentFolder,
  takeBack,
  takeBackCommands,
} from '../../../src/server/systemd-install.ts';
import { describeProduction, writeJournal } from '../../../src/server/systemd-journal.ts';
import { armLease } from '../../../src/server/systemd-lease.ts';
import { lockOwner, takeLock, thisTuner } from '../../../src/server/systemd-lock.ts';
import { preflightSystemd } from '../../../src/server/systemd-preflight.ts';
import { restoreProduction } from '../../../src/server/systemd-restore.ts';
import { neededCommands } from '../../../src/server/systemd-rights.ts';
import { SystemdTarget } from '../../../src/server/systemd-target.ts';
import { showUnit } from '../../../src/server/systemd-unit-state.ts';
import { describeContainer } from '../../container/describe-container.ts';
import {
  bootProduction,
  type ProductionBox,
  type ProductionOptions,
  UNIT,
} from './production-box.ts';

describeContainer('preflight of a systemd target', () => {
  let machine: ProductionBox | undefined;

  async function boot(options: ProductionOptions = {}): Promise<ProductionBox> {
    machine = await bootProduction(options);
    return machine;
  }

  afterEach(async () => {
    await machine?.[Symbol.asyncDispose]();
    machine = undefined;
  });

  async function failures(access: SystemdAccess): Promise<string[]> {
    const checks = await preflightSystemd(access, { leaseSeconds: 900 });
    return checks
      .filter(({ state }) => state === 'failed')
      .map(({ name, found }) => `${name}: ${found}`);
  }

  /** The unit as alice reaches it, with `sudo -n`. */
  async function asAlice(box: ProductionBox): Promise<SystemdAccess> {
    const config = `${box.box.folder}/alice_config`;
    writeFileSync(
      config,
      readFileSync(box.box.sshConfigPath, 'utf8').replace('User root', 'User alice'),
    );
    const host = await openSshHost('box', { configPath: config });
    return openSystemd({ host, unit: UNIT });
  }

  function sudoers(
    box: ProductionBox,
    access: SystemdAccess,
    without: string,
    more: readonly (readonly string[])[] = [],
  ): void {
    const rules = neededCommands(access, 900, more)
      .map(({ argv: [program, ...args] }) =>
        [box.box.inside('sh', '-c', `command -v ${program ?? ''}`).trim(), ...args].join(' '),
      )
      .filter((command) => without === '' || !command.includes(without))
      .map(
        (command) =>
          `alice ALL=(root) NOPASSWD: ${command
            .replaceAll(/[,:=\\]/g, '\\$&')
            .replace('/proc/1/', '/proc/*/')
            .replace(/0{32}/, '*')}`,
      );
    box.box.put('/etc/sudoers.d/alice', `${rules.join('\n')}\n`, 0o440);
    box.box.inside('visudo', '-cf', '/etc/sudoers.d/alice');
  }

  test('a healthy unit reached as root passes everything and is not restarted', async () => {
    const box = await boot();
    const before = await box.ask();
    expect(await failures(box.access)).toEqual([]);
    expect((await box.ask()).pid).toBe(before.pid);
    expect(box.box.inside('sh', '-c', `ls /run/nightsweep/${UNIT}`)).toBe('');
  });

  test('a unit that does not exist is named', async () => {
    const box = await boot();
    const access = await openSystemd({ host: box.host, unit: 'missing' });
    expect(await failures(access)).toEqual(['unit: missing.service on box is not-found']);
  });

  test('files edited but not read by systemd are refused before our reload would apply them', async () => {
    const box = await boot();
    box.box.put(`/etc/systemd/system/${UNIT}.d/override.conf`, '[Service]\nEnvironment=X=1\n');
    expect((await failures(box.access))[0]).toMatch(/unit files: .* were edited/);
    expect(box.box.inside('systemctl', 'show', UNIT, '-p', 'Environment')).not.toContain('X=1');
  });

  test('a drop-in that would override ours is named', async () => {
    const path = `/etc/systemd/system/${UNIT}.d/zzzzz.conf`;
    const box = await boot({ files: { [path]: '[Service]\nNice=1\n' } });
    expect((await failures(box.access))[0]).toContain(path);
  });

  test('sudo without reset-failed is refused by the exact command (E8)', async () => {
    const box = await boot();
    const access = await asAlice(box);
    sudoers(box, access, 'reset-failed');
    expect((await failures(access)).join()).toMatch(
      /rights: .*refuses.*: systemctl reset-failed llm\.service$/,
    );
  });

  test('sudo that would ask for a password before a restart is refused', async () => {
    const box = await boot();
    const access = await asAlice(box);
    sudoers(box, access, '');
    const rules = box.box.inside('cat', '/etc/sudoers.d/alice');
    box.box.put(
      '/etc/sudoers.d/alice',
      rules.replace('NOPASSWD: /usr/bin/systemctl restart', 'PASSWD: /usr/bin/systemctl restart'),
      0o440,
    );
    expect((await failures(access)).join()).toMatch(
      /refuses.*: systemctl restart --no-block llm\.service$/,
    );
  });

  test('with exactly the named commands allowed, a user runs a whole launch and restores', async () => {
    const box = await boot();
    const access = await asAlice(box);
    sudoers(box, access, '');
    expect(await failures(access)).toEqual([]);
    const journal = await describeProduction(access, 'test', 0);
    const owner = await thisTuner('test', 0);
    await takeLock(access, owner, { nowMs: 0 });
    await writeJournal(access, journal);
    const lease = await armLease(access, journal, { leaseSeconds: 900, clock: systemClock });
    lease.hold();
    const target = new SystemdTarget({
      access,
      production: { environment: box.environment },
      journal,
      owner,
      clock: systemClock,
    });
    const server = await target.start(
      box.request({ environment: { ...box.environment, A: 'trial' } }),
    );
    await expect.poll(box.answer).toMatchObject({ env: { A: 'trial' } });
    expect((await server.stop()).clean).toBe(true);
    await lease.release();
    expect(await restoreProduction(access, { clock: systemClock })).toMatchObject({ problems: [] });
    await expect.poll(box.answer).toMatchObject({ env: box.environment });
  });

  /** Holds the unit, makes a trial permanent, and takes it back; the process runs on meanwhile. */
  async function installs(
    box: ProductionBox,
    access: SystemdAccess,
    production: readonly string[],
  ): Promise<void> {
    const dropIn = { path: `${await permanentFolder(access)}/zz-nightsweep.conf`, mode: 0o644 };
    const held = await holdUnit(access, {
      study: 'install',
      production: { environment: box.environment },
      leaseSeconds: 900,
      clock: systemClock,
    });
    const argv = [...production, '--kept'];
    const text = `[Service]\nExecStart=\nExecStart=${argv.join(' ')}\n`;
    const server = await held.target.startFrom(
      { dropIn: text, environment: '' },
      box.request({ argv }),
    );
    await server.detach();
    await held.keep(dropIn);
    await expect.poll(box.answer).toMatchObject({ pid: server.pid, argv: argv.slice(2) });
    const { dropInPaths, mainPid } = await showUnit(access);
    expect({ dropInPaths, mainPid }).toEqual({ dropInPaths: [dropIn.path], mainPid: server.pid });
    expect(await lockOwner(access)).toBeUndefined();
    const taken = await takeBack(access, dropIn.path);
    expect((await showUnit(access)).dropInPaths).toEqual([]);
    await taken.undo();
    expect((await showUnit(access)).dropInPaths).toEqual([dropIn.path]);
  }

  test('with exactly the named commands allowed, a user installs a drop-in and takes it back', async () => {
    const box = await boot();
    const access = await asAlice(box);
    const path = `${await permanentFolder(access)}/zz-nightsweep.conf`;
    const more = [...installCommands({ path, mode: 0o644 }), ...takeBackCommands(path)];
    sudoers(box, access, '');
    const check = async () =>
      preflightSystemd(access, { leaseSeconds: 900, moreCommands: more }).then((checks) =>
        checks.filter(({ state }) => state === 'failed'),
      );
    expect(await check()).toMatchObject([
      { name: 'rights', found: expect.stringContaining(path) as string },
    ]);
    sudoers(box, access, '', more);
    expect(await check()).toEqual([]);
    await installs(box, access, box.argv);
  });

  test('a drop-in of a user unit is kept where it outlives a reboot', async () => {
    const box = await boot();
    box.box.put(
      '/home/alice/.config/systemd/user/mine.service',
      `[Service]\nEnvironment=A=1\nExecStart=/usr/bin/python3 /opt/serve.py --port ${box.port}\n`,
    );
    box.box.inside('chown', '-R', 'alice:alice', '/home/alice/.config');
    box.box.inside('systemctl', 'stop', UNIT);
    box.box.inside('loginctl', 'enable-linger', 'alice');
    const alice = await asAlice(box);
    const access = await openSystemd({ host: alice.host, unit: 'mine', user: true });
    await expect.poll(async () => failures(access)).toEqual([]);
    await installs(box, access, box.argv.slice(0, 4));
    expect(box.box.inside('ls', '/home/alice/.config/systemd/user/mine.service.d')).toBe(
      'zz-nightsweep.conf\n',
    );
  });

  test('a user unit is refused without linger, and run with it (U8, E8)', async () => {
    const box = await boot();
    box.box.put(
      '/home/alice/.config/systemd/user/mine.service',
      `[Service]\nExecStart=/usr/bin/python3 /opt/serve.py --port ${box.port}\n`,
    );
    box.box.inside('chown', '-R', 'alice:alice', '/home/alice/.config');
    box.box.inside('systemctl', 'stop', UNIT);
    const alice = await asAlice(box);
    const access = await openSystemd({ host: alice.host, unit: 'mine', user: true });
    expect((await failures(access)).join()).toMatch(/does not linger/);
    box.box.inside('loginctl', 'enable-linger', 'alice');
    expect(await failures(access)).toEqual([]);
    const journal = await describeProduction(access, 'test', 0);
    const owner = await thisTuner('test', 0);
    await takeLock(access, owner, { nowMs: 0 });
    await writeJournal(access, journal);
    await armLease(access, journal, { leaseSeconds: 900, clock: systemClock });
    const target = new SystemdTarget({
      access,
      production: { environment: {} },
      journal,
      owner,
      clock: systemClock,
    });
    const argv = ['/usr/bin/python3', '/opt/serve.py', '--port', String(box.port), '--trial'];
    const server = await target.start(box.request({ argv, environment: {} }));
    await expect.poll(box.answer).toMatchObject({ argv: argv.slice(2), pid: server.pid });
    await expect.poll(() => server.logTail(3).join(), { timeout: 10_000 }).toContain('--trial');
    expect((await server.stop()).clean).toBe(true);
    expect(await restoreProduction(access, { clock: systemClock })).toMatchObject({ problems: [] });
    // And by itself, when nobody renews.
    const { target: again } = await holdUnit(access, {
      study: 'test',
      production: { environment: {} },
      leaseSeconds: 3,
      clock: systemClock,
    }).then(async (held) => {
      await held.lease.release();
      return held;
    });
    await again.start(box.request({ argv, environment: {} }));
    await expect
      .poll(
        () => box.box.inside('sh', '-c', 'ls /run/user/1500/systemd/user/*.d 2>/dev/null || true'),
        { timeout: 25_000 },
      )
      .toBe('');
    await expect.poll(box.answer, { timeout: 10_000 }).toMatch(/fetch failed/);
  });
});
