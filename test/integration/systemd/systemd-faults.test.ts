import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { openSshHost, type SshHost } from '../../../src/host/ssh-host.ts';
import { openSystemd, type SystemdAccess } from '../../../src/server/systemd-access.ts';
import { holdUnit } from '../../../src/server/systemd-hold.ts';
import { preflightSystemd } from '../../../src/server/systemd-preflight.ts';
import { readSystemdService } from '../../../src/server/systemd-service.ts';
import { type CuttingProxy, type ProxyOptions, startProxy } from '../../container/cutting-proxy.ts';
import { describeContainer } from '../../container/describe-container.ts';
import {
  bootProduction,
  type ProductionBox,
  type ProductionOptions,
  UNIT,
} from './production-box.ts';

/** How long the link is cut; `NIGHTSWEEP_CUT_SECONDS=90` for the length that the field saw. */
const CUT_MS = Number(process.env['NIGHTSWEEP_CUT_SECONDS'] ?? 6) * 1000;

describeContainer('faults on the way to a systemd target', () => {
  let machine: ProductionBox | undefined;
  const open: AsyncDisposable[] = [];

  async function boot(options: ProductionOptions = {}): Promise<ProductionBox> {
    machine = await bootProduction(options);
    return machine;
  }

  afterEach(async () => {
    for (const resource of open.splice(0).reverse()) await resource[Symbol.asyncDispose]();
    await machine?.[Symbol.asyncDispose]();
    machine = undefined;
  });

  /** The same unit through a link that the test can cut. */
  async function through(
    box: ProductionBox,
    options: ProxyOptions = {},
  ): Promise<{ proxy: CuttingProxy; host: SshHost; access: SystemdAccess }> {
    const proxy = await startProxy(box.box.sshPort, options);
    const config = join(box.box.folder, 'proxied');
    const known = readFileSync(box.box.knownHostsPath, 'utf8');
    const port = String(box.box.sshPort);
    writeFileSync(`${config}_known`, known.replace(`:${port}`, `:${proxy.port}`));
    writeFileSync(
      config,
      readFileSync(box.box.sshConfigPath, 'utf8')
        .replace(`Port ${port}`, `Port ${proxy.port}`)
        .replace(box.box.knownHostsPath, `${config}_known`),
    );
    const host = await openSshHost('box', { configPath: config });
    open.push(proxy, host);
    return { proxy, host, access: await openSystemd({ host, unit: UNIT }) };
  }

  const hold = async (box: ProductionBox, access: SystemdAccess) =>
    holdUnit(access, {
      study: 'faults',
      production: { environment: box.environment },
      leaseSeconds: 300,
      clock: systemClock,
    });

  const trial = (box: ProductionBox, ...more: string[]) =>
    box.request({ argv: [...box.argv.slice(0, -1), 'trial', ...more] });
  /** All of it at once: writing gigabytes would take longer than a lease on a busy machine. */
  const fillRun = (box: ProductionBox) => {
    const free = `df --output=avail -k /run | tail -n 1`;
    const fill = `fallocate -l "$(${free} | tr -d ' ')K" /run/filler; cat /dev/zero >>/run/filler`;
    box.box.inside('sh', '-c', `{ ${fill}; } 2>/dev/null || true`);
  };

  const serving = async (box: ProductionBox) => {
    await expect
      .poll(box.answer, { timeout: 40_000 })
      .toMatchObject({ argv: box.argv.slice(2), env: box.environment });
  };

  test('a link that is cut during a start: the launch comes up once, and production comes back (E3)', async () => {
    const box = await boot();
    const { proxy, access } = await through(box);
    const held = await hold(box, access);
    const starting = held.target.start(trial(box));
    await sleep(150);
    proxy.cut();
    await sleep(CUT_MS);
    proxy.mend();
    const server = await starting;
    await expect.poll(box.answer).toMatchObject({ pid: server.pid });
    expect(box.box.inside('systemctl', 'show', UNIT, '-p', 'InvocationID', '--value').trim()).toBe(
      server.invocationId,
    );
    await server.stop();
    expect((await held.giveBack()).problems).toEqual([]);
    await serving(box);
  }, 180_000);

  test('a link that is cut while a server runs is no end of the server (E3)', async () => {
    const box = await boot();
    const { proxy, access } = await through(box);
    const held = await hold(box, access);
    const server = await held.target.start(trial(box));
    await expect.poll(box.answer).toMatchObject({ pid: server.pid });
    proxy.cut();
    await sleep(CUT_MS);
    expect(await box.ask()).toMatchObject({ pid: server.pid });
    expect(server.exit()).toBeUndefined();
    proxy.mend();
    expect((await server.stop()).clean).toBe(true);
    await held.giveBack();
    await serving(box);
  }, 180_000);

  test('an sshd with MaxSessions 1 that drops two of three connections serves a whole sweep (E4, E5)', async () => {
    const box = await boot({ sshd: ['MaxSessions 1'] });
    const { access } = await through(box, { drops: (n) => n % 3 !== 0 });
    const held = await hold(box, access);
    for (let i = 0; i < 3; i += 1) {
      const server = await held.target.start(trial(box, String(i)));
      await expect
        .poll(box.answer)
        .toMatchObject({ argv: expect.arrayContaining([String(i)]) as unknown, pid: server.pid });
      expect((await server.stop()).clean).toBe(true);
    }
    await held.giveBack();
    await serving(box);
  });

  test('a full /run on the target is a clear error, and production is back once there is room', async () => {
    const box = await boot();
    const { access } = await through(box);
    const held = await holdUnit(access, {
      study: 'full',
      production: { environment: box.environment },
      // It cannot be renewed any more, and must not run out before that is seen.
      leaseSeconds: 15,
      clock: systemClock,
    });
    const server = await held.target.start(trial(box));
    await expect.poll(box.answer).toMatchObject({ pid: server.pid });
    fillRun(box);
    await expect(held.target.start(trial(box, 'next'))).rejects.toThrow(
      /cannot write .*No space left/,
    );
    await expect(held.giveBack()).rejects.toThrow(/space/);
    box.box.inside('rm', '/run/filler');
    await serving(box);
  });

  test('preflight refuses a /run in which systemd could not reload', async () => {
    const box = await boot();
    const { access } = await through(box);
    fillRun(box);
    const checks = await preflightSystemd(access, { leaseSeconds: 900 });
    expect(checks.find(({ name }) => name === 'room')).toMatchObject({
      state: 'failed',
      found: '/run has 0 MiB free',
    });
  });

  test('a host key that changes between two connections is refused, and the lease brings production back', async () => {
    const box = await boot();
    const { proxy, access } = await through(box);
    const held = await holdUnit(access, {
      study: 'key',
      production: { environment: box.environment },
      leaseSeconds: 5,
      clock: systemClock,
    });
    const server = await held.target.start(trial(box));
    await expect.poll(box.answer).toMatchObject({ pid: server.pid });
    box.box.inside(
      'sh',
      '-c',
      'rm /etc/ssh/ssh_host_ed25519_key* && ssh-keygen -q -t ed25519 -N "" -f /etc/ssh/ssh_host_ed25519_key && systemctl restart ssh',
    );
    proxy.cut();
    proxy.mend();
    await expect(held.target.start(trial(box))).rejects.toThrow(/has changed/);
    await serving(box);
  });

  test('a sweep that takes over from a dead one first puts right what it left', async () => {
    const box = await boot();
    const { access } = await through(box);
    const first = await hold(box, access);
    await first.target.start(trial(box));
    await first.lease.release();
    const second = await holdUnit(access, {
      study: 'second',
      production: { environment: box.environment },
      leaseSeconds: 300,
      clock: systemClock,
      takeOver: true,
    });
    expect(second.mended).toEqual([expect.stringMatching(/^removed /), `restarted ${UNIT}`]);
    await serving(box);
    expect(second.journal.commandSha256).toBe(first.journal.commandSha256);
    await second.giveBack();
  });

  test('a unit that writes its log to a file is read there', async () => {
    const box = await boot({
      service: [
        'StandardOutput=append:/var/log/llm.log',
        'StandardError=inherit',
        'Restart=always',
      ],
    });
    const { access } = await through(box);
    const held = await hold(box, access);
    const server = await held.target.start(trial(box, '--in-file'));
    await expect
      .poll(() => server.logTail(9).join('\n'), { timeout: 10_000 })
      .toContain('--in-file');
    expect(server.logTail(99).join('\n')).not.toContain('production');
    await server.stop();
    await held.giveBack();
  });

  test('the merged unit is read with its drop-ins, environment files and user, and is what runs', async () => {
    const box = await boot();
    const { access } = await through(box);
    const python = '/usr/bin/python3 -m sglang.launch_server --model-path m $EXTRA';
    box.box.put('/opt/sglang/launch_server.py', readServer(box));
    box.box.put('/opt/sglang/__init__.py', '');
    box.box.put('/etc/extra.env', `EXTRA="--port ${box.port}"\n`, 0o600);
    box.box.put(
      `/etc/systemd/system/${UNIT}.d/override.conf`,
      `[Service]\nUser=alice\nEnvironment=PYTHONPATH=/opt\nEnvironmentFile=/etc/extra.env\nExecStart=\nExecStart=${python}\n`,
    );
    box.box.inside('systemctl', 'daemon-reload');
    box.box.inside('systemctl', 'restart', UNIT);
    await expect
      .poll(box.answer)
      .toMatchObject({ argv: ['--model-path', 'm', '--port', String(box.port)] });
    const read = await readSystemdService(access);
    expect(read.service.argv).toEqual([
      '/usr/bin/python3',
      '-m',
      'sglang.launch_server',
      '--model-path',
      'm',
      '--port',
      String(box.port),
    ]);
    expect(read).toMatchObject({
      runsAsWritten: true,
      environment: { HOME: '/home/alice', USER: 'alice', PYTHONPATH: '/opt' },
    });
    expect(read.files.map(({ path }) => path)).toEqual([
      `/etc/systemd/system/${UNIT}`,
      `/etc/systemd/system/${UNIT}.d/override.conf`,
    ]);
    const { env } = await box.ask();
    expect(env).toMatchObject(read.environment);
  });

  test.each([
    { report: 'U5', command: '/usr/bin/env bash /opt/launch.sh', what: /a script|a shell/ },
    {
      report: 'U8',
      command: "/bin/bash -lc 'source /opt/run.sh 0.0.0.0 8080'",
      what: /a shell command line/,
    },
    { report: 'U9', command: '/opt/launch.sh', what: /a script/ },
    {
      report: 'U7',
      command: '/usr/bin/docker run --rm image python3 -m sglang.launch_server',
      what: /a container/,
    },
  ])(
    'a unit that starts $command is refused with what to do, untouched ($report)',
    async ({ command, what }) => {
      const box = await boot();
      const { access } = await through(box);
      box.box.put(
        `/etc/systemd/system/${UNIT}.d/override.conf`,
        `[Service]\nExecStart=\nExecStart=${command}\n`,
      );
      box.box.inside('systemctl', 'daemon-reload');
      const { pid } = await box.ask();
      await expect(readSystemdService(access)).rejects.toMatchObject({
        message: expect.stringMatching(what) as string,
        hint: expect.any(String) as string,
      });
      expect((await box.ask()).pid).toBe(pid);
    },
  );
});

function readServer(box: ProductionBox): string {
  return box.box.inside('cat', '/opt/serve.py');
}
