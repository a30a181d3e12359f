import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { loadStudy } from '../../src/config/load-study.ts';
import { describeContainer } from '../container/describe-container.ts';
import { onTerminal } from '../helpers/on-terminal.ts';
import { MAIN } from '../helpers/run-cli.ts';
import { type SystemdStudy, systemdStudy } from '../helpers/systemd-study.ts';

const TEST_MS = 120_000;

describeContainer('the way in to a systemd unit behind ssh', () => {
  let machine: SystemdStudy;
  let before = '';

  beforeAll(async () => {
    machine = await systemdStudy();
    before = machine.production();
  }, TEST_MS);

  afterAll(() => machine[Symbol.asyncDispose]());

  const at = (name: string) => join(machine.box.folder, name);

  /** The machine's study with a changed target. */
  function studyWith(target: Readonly<Record<string, unknown>>): string {
    const study = JSON.parse(readFileSync(machine.file, 'utf8')) as { target: object };
    writeFileSync(
      at('changed.yaml'),
      JSON.stringify({ ...study, target: { ...study.target, ...target } }),
    );
    return at('changed.yaml');
  }

  test(
    'init writes a study of the merged unit that doctor and plan accept, and touches nothing',
    async () => {
      const words = ['--from-unit', 'sglang.service', '--ssh', 'box', '--out', at('made.yaml')];
      const made = await machine.start('init', ...words).result;
      expect(made.exitCode, made.stderr).toBe(0);
      expect(made.stdout).toContain('nightsweep doctor');
      const { target, parameters } = await loadStudy(at('made.yaml'));
      expect(target).toMatchObject({
        ssh: 'box',
        unit: 'sglang.service',
        baseUrl: machine.baseUrl,
      });
      expect(parameters.size).toBeGreaterThan(2);
      expect(readFileSync(at('made.yaml'), 'utf8')).not.toContain('hf_production_secret');
      const doctor = await machine.start('doctor', at('made.yaml'), '--db', machine.database)
        .result;
      expect(doctor.exitCode, doctor.stdout + doctor.stderr).toBe(0);
      expect(doctor.stdout).toContain(`completion: production answers at ${machine.baseUrl}`);
      const plan = await machine.start('plan', at('made.yaml')).result;
      expect(plan.exitCode, plan.stderr).toBe(0);
      expect(machine.production()).toBe(before);
    },
    TEST_MS,
  );

  test.each([
    {
      fault: 'a key whose variable is not set',
      target: { api_key_env: 'NO_SUCH_KEY' },
      says: /FAIL {2}API key: .*NO_SUCH_KEY, which is not set\n +export NO_SUCH_KEY=/,
    },
    {
      fault: 'a port that is not the server’s',
      target: { base_url: 'http://127.0.0.1:9' },
      says: /FAIL {2}server: .*has port 9, but the server listens on/,
    },
    {
      fault: 'a unit that is not there',
      target: { unit: 'absent.service' },
      says: /FAIL {2}server: unit absent.service on box is not-found\n +Name a unit/,
    },
    {
      fault: 'a machine that is not there',
      target: { ssh: 'no-such-host.invalid' },
      says: /FAIL {2}machine: .*no-such-host/,
    },
  ])(
    'doctor says of $fault what to do, goes on with the other checks, and exits with 2',
    async ({ target, says }) => {
      const { exitCode, stdout, stderr } = await machine.start(
        ...['doctor', studyWith(target), '--db', machine.database],
      ).result;
      expect(exitCode, stdout + stderr).toBe(2);
      expect(stdout).toMatch(says);
      expect(stdout).toContain('ok    study');
      expect(machine.production()).toBe(before);
    },
    TEST_MS,
  );

  test(
    'an encrypted key is opened by what is typed on the terminal, and nothing of it is shown',
    async () => {
      const key = at('encrypted');
      execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', 'open sesame', '-f', key]);
      const keys = '/root/.ssh/authorized_keys';
      const known = machine.box.inside('cat', keys);
      machine.box.put(keys, `${known}${readFileSync(`${key}.pub`, 'utf8')}`, 0o600);
      const config = at('encrypted_config');
      writeFileSync(
        config,
        readFileSync(machine.box.sshConfigPath, 'utf8').replace(machine.box.userKeyPath, key),
      );
      const { exitCode, output } = await onTerminal(
        [process.execPath, MAIN, 'doctor', machine.file, '--db', machine.database],
        {
          cwd: machine.box.folder,
          environment: { NIGHTSWEEP_SSH_CONFIG: config, SSH_AUTH_SOCK: '' },
          type: { after: `Passphrase of ${key}: `, text: 'open sesame\r' },
        },
      );
      expect(exitCode, output).toBe(0);
      expect(output).not.toContain('sesame');
      expect(output).toContain('ok    machine');
    },
    TEST_MS,
  );
});
