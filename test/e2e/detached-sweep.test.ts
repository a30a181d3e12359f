import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { measurementKeys } from '../helpers/database.ts';
import { onTerminal } from '../helpers/on-terminal.ts';
import { MAIN } from '../helpers/run-cli.ts';
import { type SimulatedStudy, simulatedStudy } from '../helpers/simulated-study.ts';

describe('a detached sweep', () => {
  let study: SimulatedStudy;
  const detach = (file: string) =>
    onTerminal([process.execPath, MAIN, 'sweep', file, '--db', study.database, '--detach'], {
      cwd: study.folder,
    });

  beforeAll(async () => {
    study = await simulatedStudy({ parameters: { 'max-running-requests': [1, 4] } });
  });

  afterAll(() => study[Symbol.asyncDispose]());

  test('outlives its terminal, is followed by status, and measures everything', async () => {
    const { exitCode, output } = await detach(study.file);
    expect(exitCode, output).toBe(0);
    expect(output).toContain('this terminal may be closed');
    const [, pid] = /as process (\d+)/.exec(output) ?? [];
    const followed = await study.run('status', '--follow');
    expect(followed.exitCode, followed.stderr).toBe(0);
    expect(followed.stdout).toContain('Report: ');
    const trials = new Set(measurementKeys(study.database).map((key) => key.split('/')[0]));
    expect(trials.size).toBe(3);
    const { stdout } = await study.run('status');
    expect(stdout).toContain(`no sweep runs; the last was process ${String(pid)}`);
  });

  test('that cannot begin says so on the terminal, with its exit code', async () => {
    await study.write({
      parameters: { 'max-running-requests': [1, 4] },
      target: { api_key_env: 'NO_SUCH_KEY' },
    });
    const { exitCode, output } = await detach(study.file);
    expect(exitCode, output).toBe(2);
    expect(output).toContain('NO_SUCH_KEY, which is not set');
  });
});
