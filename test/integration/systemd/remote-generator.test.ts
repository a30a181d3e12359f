import { fileURLToPath } from 'node:url';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { openSshHost, type SshHost } from '../../../src/host/ssh-host.ts';
import type { PointOptions } from '../../../src/load/point-options.ts';
import { openRemoteGenerator } from '../../../src/remote-load/remote-generator.ts';
import { openSystemd, type SystemdAccess } from '../../../src/server/systemd-access.ts';
import { bootContainer, type Container, freePort } from '../../container/boot-container.ts';
import { describeContainer } from '../../container/describe-container.ts';
import { MAIN } from '../../helpers/run-cli.ts';
import { PROGRAM_BINDS } from '../../helpers/systemd-study.ts';

const GENERATOR = fileURLToPath(new URL('../../../dist/load-generator.cjs', import.meta.url));

const point = (port: number): PointOptions => ({
  baseUrl: `http://127.0.0.1:${String(port)}`,
  model: 'default',
  timeScale: 20,
  workload: {
    prompts: 'code',
    inputTokens: 50,
    outputTokens: 10,
    ignoreEos: true,
    api: 'native',
    requests: 8,
    seed: 1,
    tokenId: 1,
  },
  concurrency: 2,
  warmUpRequests: 1,
  salt: 'test',
  requestTimeoutSeconds: 600,
  pointTimeoutSeconds: 1200,
  stallSeconds: 600,
});

describeContainer('the load generator on the server', () => {
  let box: Container;
  let host: SshHost;
  let access: SystemdAccess;
  let port: number;
  const open = async () =>
    openRemoteGenerator({
      access,
      ssh: host,
      generatorPath: GENERATOR,
      limitSeconds: 300,
      clock: systemClock,
    });

  beforeAll(async () => {
    port = await freePort();
    box = await bootContainer({ readOnlyBinds: PROGRAM_BINDS });
    box.inside(
      ...['systemd-run', '--quiet', process.execPath, MAIN, 'simulate', '--speed', '20'],
      ...['--sim-start-seconds', '1', '--model-path', '/models/Qwen3.5-122B-A10B', '--tp', '4'],
      ...['--host', '127.0.0.1', '--port', String(port)],
    );
    host = await openSshHost('box', { configPath: box.sshConfigPath });
    access = await openSystemd({ host, unit: 'sglang.service' });
    const ready = async () =>
      fetch(`http://127.0.0.1:${String(port)}/server_info`).then(
        ({ status }) => status,
        () => 0,
      );
    while ((await ready()) !== 200) await systemClock.sleep(100);
  }, 200_000);

  afterAll(async () => {
    await host[Symbol.asyncDispose]();
    await box[Symbol.asyncDispose]();
  });

  test('measures there, brings every record back, and leaves nothing behind', async () => {
    const outcome = await open();
    if (outcome.state !== 'ready') throw new Error(outcome.why);
    const phases: string[] = [];
    const measured = await outcome.generator.measurePoint(point(port), {
      clock: systemClock,
      onPhase: (phase) => phases.push(phase),
    });
    expect(measured.run.end).toBe('completed');
    expect(measured.run.records).toHaveLength(8);
    expect(measured.metrics.completed).toBe(8);
    expect(phases).toContain('warm-up');
    // The job holds the server's key.
    expect(box.inside('ls', '/var/tmp/nightsweep-load-sglang')).not.toContain('job.json');
    await outcome.generator[Symbol.asyncDispose]();
    expect(box.inside('sh', '-c', 'ls -d /var/tmp/nightsweep-load-* 2>/dev/null || true')).toBe('');
    expect(box.inside('systemctl', 'list-units', '--all', '--no-legend', 'nightsweep-*')).toBe('');
  });

  test('that cannot write its folder names host and path', async () => {
    box.inside('mount', '-t', 'tmpfs', '-o', 'ro', 'none', '/var/tmp');
    await expect(open()).rejects.toThrow(
      'cannot write /var/tmp/nightsweep-load-sglang on box: Read-only file system',
    );
    box.inside('umount', '/var/tmp');
  });
});
