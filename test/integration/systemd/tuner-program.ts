/**
 * A tuner for the tests to kill: takes the unit over ssh and starts and stops trials for ever.
 *
 *   tuner-program.ts SSH_CONFIG UNIT PORT LEASE_SECONDS LOG_FOLDER
 */
import { systemClock } from '../../../src/clock.ts';
import { openSshHost } from '../../../src/host/ssh-host.ts';
import { openSystemd } from '../../../src/server/systemd-access.ts';
import { holdUnit } from '../../../src/server/systemd-hold.ts';

const [configPath = '', unit = '', port = '', leaseSeconds = '', folder = ''] =
  process.argv.slice(2);

async function main(): Promise<void> {
  const host = await openSshHost('box', { configPath });
  const access = await openSystemd({ host, unit });
  const environment = { A: 'one two', B: 'b', FROM_FILE: 'file value', TOKEN: 'production-secret' };
  const { target } = await holdUnit(access, {
    study: 'killed',
    production: { environment },
    leaseSeconds: Number(leaseSeconds),
    clock: systemClock,
  });
  for (let trial = 0; ; trial += 1) {
    const server = await target.start({
      argv: ['/usr/bin/python3', '/opt/serve.py', '--port', port, '--mode', `trial-${trial}`],
      environment: { ...environment, A: `trial ${trial}` },
      baseUrl: `http://127.0.0.1:${port}`,
      logPath: `${folder}/killed.log`,
    });
    process.stdout.write(`trial ${trial}\n`);
    await systemClock.sleep(300);
    await server.stop();
  }
}

await main();
