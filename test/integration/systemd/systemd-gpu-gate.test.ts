import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../src/clock.ts';
import { openSshHost, type SshHost } from '../../../src/host/ssh-host.ts';
import { sampleGpus, summarizeGpus } from '../../../src/server/gpu-clocks.ts';
import { readGpus, waitForFreeGpus } from '../../../src/server/gpu-gate.ts';
import { bootContainer, type Container } from '../../container/boot-container.ts';
import { describeContainer } from '../../container/describe-container.ts';

/** Answers like nvidia-smi, from two files. */
const SMI = `#!/bin/sh
case "$1" in
  --query-gpu=*) cat /gpus; [ -e /broken ] && exit 9; exit 0 ;;
  *) cat /processes ;;
esac
`;

const gpu = (usedMib: number) =>
  `0, GPU-a, NVIDIA H200, 570.86.15, 9.0, 143771, ${usedMib}, 41, 1980, 121.5, 0x0000000000000020\n`;

describeContainer('the GPU gate over ssh', () => {
  let box: Container;
  let host: SshHost;

  beforeAll(async () => {
    box = await bootContainer();
    host = await openSshHost('box', { configPath: box.sshConfigPath });
  }, 120_000);

  afterAll(async () => {
    await host[Symbol.asyncDispose]();
    await box[Symbol.asyncDispose]();
  });

  test('a machine without nvidia-smi has no gate', async () => {
    expect(await readGpus(host)).toBeUndefined();
    const { signal } = new AbortController();
    expect(await sampleGpus(host, { clock: systemClock, everyMs: 10, signal })).toBeUndefined();
  });

  test('the gate opens when the memory of before the study is free again', async () => {
    box.put('/usr/local/bin/nvidia-smi', SMI, 0o755);
    box.put('/processes', '');
    box.put('/gpus', gpu(500));
    const before = await readGpus(host);
    if (before === undefined) throw new Error('no GPU seen');
    box.put('/gpus', gpu(90_000));
    const waiting = waitForFreeGpus(host, before, { clock: systemClock, limitSeconds: 30 });
    await expect(
      Promise.race([waiting, systemClock.sleep(1500).then(() => 'waits')]),
    ).resolves.toBe('waits');
    box.put('/gpus', gpu(510));
    expect(await waiting).toMatchObject({ state: 'free' });
  });

  test('memory that stays held is reported with its holder, and nothing is killed', async () => {
    box.put('/gpus', gpu(500));
    const before = await readGpus(host);
    if (before === undefined) throw new Error('no GPU seen');
    box.put('/gpus', gpu(9000));
    const pid = box.inside('sh', '-c', 'sleep 300 >/dev/null 2>&1 & echo $!').trim();
    box.put('/processes', `GPU-a, ${pid}, 8500, /usr/bin/other\n`);
    expect(
      await waitForFreeGpus(host, before, { clock: systemClock, limitSeconds: 0 }),
    ).toMatchObject({
      state: 'held',
      reason: `GPU 0 holds 9000 MiB, 500 MiB before the study, held by /usr/bin/other (pid ${pid}, 8500 MiB)`,
    });
    expect(box.inside('cat', `/proc/${pid}/comm`)).toBe('sleep\n');
  });

  test('a driver that fails is an error with its own words', async () => {
    box.put('/gpus', 'Unable to determine the device handle for GPU0: Unknown Error\n');
    box.put('/broken', '');
    await expect(readGpus(host)).rejects.toThrow(/nvidia-smi on box fails: Unable to determine/);
    box.inside('rm', '/broken');
  });

  test('samples during a measurement are summed up until it ends', async () => {
    box.put('/gpus', gpu(500));
    const stop = new AbortController();
    const sampling = sampleGpus(host, { clock: systemClock, everyMs: 50, signal: stop.signal });
    await systemClock.sleep(800);
    stop.abort();
    expect(summarizeGpus((await sampling) ?? [])).toMatchObject({
      medianSmClockMhz: 1980,
      maxTemperatureCelsius: 41,
      throttleFractions: { sw_thermal_slowdown: 1 },
    });
  });
});
