/**
 * A whole hold on this machine's own systemd, without ssh: one trial, then production again. Run
 * inside a container; prints one line of JSON.
 *
 *   local-tuner-program.ts UNIT PORT LOG_PATH
 */
import { systemClock } from '../../../src/clock.ts';
import { localHost } from '../../../src/host/local-host.ts';
import { openSystemd } from '../../../src/server/systemd-access.ts';
import { holdUnit } from '../../../src/server/systemd-hold.ts';
import { preflightSystemd } from '../../../src/server/systemd-preflight.ts';

const [unit = '', port = '', logPath = ''] = process.argv.slice(2);
const baseUrl = `http://127.0.0.1:${port}`;

async function ask(): Promise<unknown> {
  const deadlineMs = systemClock.nowMs() + 10_000;
  for (;;) {
    try {
      return await (await fetch(baseUrl, { headers: { connection: 'close' } })).json();
    } catch (error) {
      if (systemClock.nowMs() > deadlineMs) throw error;
      await systemClock.sleep(50);
    }
  }
}

const access = await openSystemd({ host: localHost, unit });
const checks = await preflightSystemd(access, { leaseSeconds: 60 });
const held = await holdUnit(access, {
  study: 'local',
  production: { environment: {} },
  leaseSeconds: 60,
  clock: systemClock,
});
const server = await held.target.start({
  argv: ['/usr/bin/python3', '/opt/serve.py', '--port', port, '--mode', 'local trial'],
  environment: { LOCAL: 'yes' },
  baseUrl,
  logPath,
});
const during = await ask();
const proof = await server.stop();
const report = await held.giveBack(async () => {
  await ask();
});
const after = await ask();
process.stdout.write(`${JSON.stringify({ checks, during, proof, report, after })}\n`);
