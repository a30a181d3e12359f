import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { restoreProduction } from '../../../src/server/systemd-restore.ts';
import { emitDropIn } from '../../../src/service-file/drop-in.ts';
import { assignedLaunch } from '../../../src/service-file/emit-unit.ts';
import { readService } from '../../../src/service-file/read-service.ts';
import { describeContainer } from '../../container/describe-container.ts';
import { sglangHelp } from '../../helpers/sglang-help.ts';
import { bootProduction, type ProductionBox, type Taken, UNIT } from './production-box.ts';

const hostileWord = fc.oneof(
  fc.string({ unit: 'binary' }),
  fc.constantFrom(
    '$HOME',
    '${A}',
    '%n',
    '%%',
    ';',
    '\\',
    '"',
    "'",
    'ExecStartPre=/bin/touch /pwned',
    '$(touch /pwned)',
    '\\x41',
    'a\tb',
    ' ',
    '#',
    '@x',
    '-x',
    'ü\u2028',
  ),
);
/** What a unit file can hold of it. */
const value = hostileWord.filter((text) => !/[\n\r\0\ud800-\udfff]/.test(text));

describeContainer('a systemd unit as target', () => {
  let machine: ProductionBox;
  let taken: Taken;

  beforeAll(async () => {
    machine = await bootProduction();
    taken = await machine.take();
  }, 120_000);

  afterAll(async () => {
    await machine[Symbol.asyncDispose]();
  });

  const withMode = (mode: string, ...more: string[]) => [
    ...machine.argv.slice(0, -1),
    mode,
    ...more,
  ];

  test('a trial runs with its own argv and environment, proven, and a stop leaves nothing', async () => {
    const environment = {
      ...machine.environment,
      A: 'trial',
      ADDED: 'a "quoted" $value `x` \\ %n',
      FROM_FILE: 'changed',
    };
    const withoutB = Object.fromEntries(
      Object.entries(environment).filter(([name]) => name !== 'B'),
    );
    const server = await taken.target.start(
      machine.request({ argv: withMode('trial'), environment: withoutB }),
    );
    await expect.poll(machine.answer).toMatchObject({
      argv: ['--port', String(machine.port), '--mode', 'trial'],
      pid: server.pid,
    });
    const { env } = await machine.ask();
    expect(env).toMatchObject(withoutB);
    expect(env).not.toHaveProperty('B');
    const proof = await server.stop();
    expect(proof).toMatchObject({ clean: true, survivors: [] });
    expect(await machine.answer()).toMatch(/fetch failed/);
    expect(server.exit()).toMatchObject({ requested: true });
  });

  test('the log of the launch is in the file and in the tail', async () => {
    const server = await taken.target.start(machine.request({ argv: withMode('logged') }));
    await expect
      .poll(() => server.logTail(5).join('\n'), { timeout: 10_000 })
      .toContain('"logged"');
    await server.stop();
    expect(readFileSync(`${machine.box.folder}/server.log`, 'utf8')).toContain('"logged"');
    expect(server.logBytes()).toBeGreaterThan(0);
  });

  test('a launch that ends by itself says so with its exit code', async () => {
    const server = await taken.target.start(machine.request({ argv: withMode('x', '--crash') }));
    expect(await server.exited).toEqual({ code: 7, signal: null, requested: false });
    expect((await server.stop()).clean).toBe(true);
  });

  test('a server that ignores SIGTERM and a child that left its session are both ended', async () => {
    const server = await taken.target.start(
      machine.request({ argv: withMode('x', '--stubborn', '--stray') }),
    );
    await expect.poll(machine.answer).toMatchObject({ pid: server.pid });
    expect(await server.stop()).toMatchObject({ clean: true });
    expect(machine.box.inside('sh', '-c', 'pgrep -fx "sleep 4799" || true')).toBe('');
  });

  test('a trial that crashes is not started again behind our back', async () => {
    const server = await taken.target.start(machine.request({ argv: withMode('x') }));
    await expect.poll(machine.answer).toMatchObject({ pid: server.pid });
    await fetch(`${machine.baseUrl}/die`).catch(() => undefined);
    expect(await server.exited).toEqual({ code: 9, signal: null, requested: false });
    expect(await machine.answer()).toMatch(/fetch failed/);
    await server.stop();
  });

  test('a restart by somebody else ends the launch with an unknown status', async () => {
    const server = await taken.target.start(machine.request({ argv: withMode('x') }));
    machine.box.inside('systemctl', 'restart', UNIT);
    expect(await server.exited).toEqual({ code: null, signal: null, requested: false });
    await server.stop();
  });

  test('eight short-lived configurations all start in spite of the start limit (A18)', async () => {
    const codes: (number | null)[] = [];
    for (let i = 0; i < 8; i += 1) {
      const server = await taken.target.start(
        machine.request({ argv: withMode(String(i), '--crash') }),
      );
      codes.push((await server.exited).code);
      await server.stop();
    }
    expect(codes).toEqual(Array.from({ length: 8 }, () => 7));
  });

  test('hostile words and values arrive as they are and add no directive', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(value, { minLength: 1, maxLength: 6 }),
        value,
        async (words, variable) => {
          const environment = { ...machine.environment, HOSTILE: variable };
          const server = await taken.target.start(
            machine.request({ argv: withMode('x', '--', ...words), environment }),
          );
          await expect.poll(machine.answer, { timeout: 10_000 }).toMatchObject({ pid: server.pid });
          const { argv, env } = await machine.ask();
          expect(argv.slice(5)).toEqual(words);
          expect(env['HOSTILE'] ?? '').toBe(variable);
          await server.stop();
        },
      ),
      { numRuns: 15 },
    );
    expect(machine.box.inside('ls', '/')).not.toContain('pwned');
  }, 120_000);

  test('hostile values of a recommendation arrive as they are and add no directive', async () => {
    const { box, port, access } = machine;
    box.inside('cp', '/opt/serve.py', '/opt/launch_server.py');
    const unit = `[Service]\nExecStart=/usr/bin/python3 /opt/launch_server.py --port ${port}\n`;
    const options = { unitName: access.unit };
    const service = readService(
      [{ path: `/etc/systemd/system/${access.unit}`, text: unit }],
      options,
    );
    const help = sglangHelp('0.5.23');
    await fc.assert(
      fc.asyncProperty(value, value, async (name, variable) => {
        fc.pre(name !== '' && !name.startsWith('-'));
        const assignment = { 'served-model-name': name, 'env.HOSTILE': variable };
        const { argv, environment } = assignedLaunch(service, assignment, help, options);
        const dropIn = emitDropIn(service, assignment, help, options);
        const server = await taken.target.startFrom(
          { dropIn, environment: '' },
          machine.request({ argv, environment: { ...machine.environment, ...environment } }),
        );
        await expect.poll(machine.answer, { timeout: 10_000 }).toMatchObject({ pid: server.pid });
        const answer = await machine.ask();
        expect(answer.argv).toEqual(['--port', String(port), '--served-model-name', name]);
        expect(answer.env['HOSTILE']).toBe(variable);
        await server.stop();
      }),
      { numRuns: 10 },
    );
    expect(box.inside('ls', '/')).not.toContain('pwned');
  }, 120_000);

  test('a line break, which no unit file can hold, is refused before anything is touched', async () => {
    const before = machine.box.inside('cat', machine.access.paths.dropIn);
    const argv = withMode('x', 'a\nExecStartPre=/bin/touch /pwned');
    await expect(taken.target.start(machine.request({ argv }))).rejects.toThrow(/line break/);
    expect(machine.box.inside('cat', machine.access.paths.dropIn)).toBe(before);
  });

  test('a line break in a variable arrives as it is', async () => {
    const environment = { ...machine.environment, HOSTILE: 'a\nExecStartPre=/bin/touch /pwned\n' };
    const server = await taken.target.start(machine.request({ environment }));
    await expect.poll(machine.answer).toMatchObject({ pid: server.pid });
    expect((await machine.ask()).env['HOSTILE']).toBe(environment.HOSTILE);
    await server.stop();
  });

  test('no secret lies in a file that others may read', () => {
    const modes = machine.box.inside(
      'sh',
      '-c',
      `stat -c %a /run/systemd/system/${UNIT}.d/* /run/nightsweep/${UNIT}/*`,
    );
    expect(new Set(modes.trim().split('\n'))).toEqual(new Set(['600', '700', '644']));
    expect(
      machine.box.inside(
        'stat',
        '-c',
        '%a',
        machine.access.paths.dropIn,
        machine.access.paths.environment,
      ),
    ).toBe('600\n600\n');
  });

  test('at the end production is as it was, proven, and nothing of ours is left', async () => {
    await taken.lease.release();
    let served = false;
    const report = await restoreProduction(machine.access, {
      clock: systemClock,
      proveServing: async () => {
        await expect
          .poll(machine.answer)
          .toMatchObject({ argv: expect.arrayContaining(['production']) as unknown });
        served = true;
      },
    });
    expect(report).toMatchObject({ problems: [], edits: [] });
    expect(served).toBe(true);
    expect(
      machine.box.inside(
        'sh',
        '-c',
        'ls /run/nightsweep/* ; ls -d /run/systemd/system/llm.service.d/* || true; systemctl list-timers --all',
      ),
    ).not.toMatch(/zzzz|guard|lock|journal\.json/);
    const { env } = await machine.ask();
    expect(env).toMatchObject(machine.environment);
  });
});
