import { join } from 'node:path';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { describeContainer } from '../../container/describe-container.ts';
import { PROGRAM_BINDS } from '../../helpers/systemd-study.ts';
import { bootProduction, type ProductionBox, UNIT } from './production-box.ts';

const REPOSITORY = join(import.meta.dirname, '..', '..', '..');

describeContainer('systemd of this machine, without ssh', () => {
  let machine: ProductionBox;

  beforeAll(async () => {
    machine = await bootProduction({ readOnlyBinds: PROGRAM_BINDS });
  }, 120_000);

  afterAll(async () => {
    await machine[Symbol.asyncDispose]();
  });

  test('is held, runs a trial, and has production back', () => {
    const program = join(import.meta.dirname, 'local-tuner-program.ts');
    const run = `cd ${REPOSITORY} && ${process.execPath} --import tsx ${program} ${UNIT} ${machine.port} /tmp/trial.log`;
    const printed = machine.box.inside('sh', '-c', run);
    const { checks, during, proof, report, after } = JSON.parse(printed) as {
      checks: { state: string }[];
      during: unknown;
      proof: unknown;
      report: unknown;
      after: unknown;
    };
    expect(checks.filter(({ state }) => state !== 'passed')).toEqual([]);
    expect(during).toMatchObject({
      argv: ['--port', String(machine.port), '--mode', 'local trial'],
      env: { LOCAL: 'yes' },
    });
    expect(proof).toMatchObject({ clean: true });
    expect(report).toMatchObject({ problems: [], edits: [] });
    expect(after).toMatchObject({ argv: machine.argv.slice(2), env: machine.environment });
  });
});
