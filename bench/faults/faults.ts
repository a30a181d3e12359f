import { execFileSync } from 'node:child_process';
import { readFileSync, writeFileSync } from 'node:fs';
import { setTimeout as sleep } from 'node:timers/promises';
import { openSshHost } from '../../src/host/ssh-host.ts';
import { openSystemd } from '../../src/server/systemd-access.ts';
import { neededCommands } from '../../src/server/systemd-rights.ts';
import type { RunningCli } from '../../test/helpers/run-cli.ts';
import { type FaultyMachine, type FaultyOptions, printed } from './faulty-machine.ts';

/** Something that goes wrong in the middle of a sweep. */
export interface Fault {
  readonly name: string;
  readonly options?: FaultyOptions;
  /** Before the sweep. */
  readonly prepare?: (machine: FaultyMachine) => Promise<void>;
  /** While it runs. */
  readonly strike?: (machine: FaultyMachine, sweep: RunningCli) => Promise<void>;
  /** What a user does before the same command goes on; for a fault that ends the sweep. */
  readonly mend?: (machine: FaultyMachine) => Promise<void>;
}

const CUT_MS = 1000 * Number(process.env['NIGHTSWEEP_CUT_SECONDS'] ?? 90);
const OVERRIDE = '/etc/systemd/system/sglang.service.d/override.conf';

async function cutLink({ link }: FaultyMachine): Promise<void> {
  link.cut();
  await sleep(CUT_MS);
  link.mend();
}

/** Lets alice run what a sweep needs by sudo, without the commands that hold `without`. */
async function allow({ study, sshConfig }: FaultyMachine, without: string): Promise<void> {
  await using host = await openSshHost('box', { configPath: sshConfig });
  const access = await openSystemd({ host, unit: 'sglang.service' });
  const rules = neededCommands(access, 900)
    .map(({ argv: [program, ...args] }) => [
      study.box.inside('sh', '-c', `command -v ${program ?? ''}`).trim(),
      ...args,
    ])
    .map((words) => words.join(' '))
    .filter((command) => without === '' || !command.includes(without))
    .map((command) => command.replaceAll(/[,:=\\]/g, '\\$&'))
    .map((command) => command.replace('/proc/1/', '/proc/*/').replace(/0{32}/, '*'))
    .map((command) => `alice ALL=(root) NOPASSWD: ${command}`);
  study.box.put('/etc/sudoers.d/alice', `${rules.join('\n')}\n`, 0o440);
}

export const faults: readonly Fault[] = [
  { name: 'none' },
  {
    name: 'link cut during a start',
    strike: async (machine, sweep) => {
      if (await printed(sweep, 'launch 3 ')) await cutLink(machine);
    },
  },
  {
    name: 'link cut during a measurement',
    strike: async (machine, sweep) => {
      if (!(await printed(sweep, 'launch 3 ', 'C=1 '))) return;
      await sleep(400);
      await cutLink(machine);
    },
  },
  {
    name: 'target rebooted during a start',
    strike: async ({ study }, sweep) => {
      if (await printed(sweep, 'launch 4 ')) await study.box.reboot();
    },
  },
  {
    name: 'target rebooted during a measurement',
    strike: async ({ study }, sweep) => {
      if (!(await printed(sweep, 'launch 4 ', 'C=1 '))) return;
      await sleep(400);
      await study.box.reboot();
    },
  },
  {
    name: 'unit edited meanwhile',
    strike: async ({ study }, sweep) => {
      if (!(await printed(sweep, 'launch 4 '))) return;
      study.box.put(OVERRIDE, '[Service]\nEnvironment=OMP_NUM_THREADS=8\n');
    },
    mend: async ({ study }) => {
      study.box.put(OVERRIDE, '[Service]\nEnvironment=OMP_NUM_THREADS=4\n');
      study.box.inside('systemctl', 'daemon-reload');
      study.box.inside('systemctl', 'restart', 'sglang.service');
      await Promise.resolve();
    },
  },
  { name: 'sshd with MaxSessions 2', options: { sshd: ['MaxSessions 2'] } },
  {
    name: 'sshd drops 2 of 3 connections',
    options: { drops: (connection) => connection % 3 !== 0 },
    strike: async ({ link }, sweep) => {
      // Else one connection would last for the whole sweep.
      for (const launch of [2, 4, 6]) {
        if (!(await printed(sweep, `launch ${String(launch)} `))) return;
        link.cut();
        link.mend();
      }
    },
  },
  {
    name: 'sudo without reset-failed',
    options: { login: 'alice' },
    prepare: async (machine) => allow(machine, 'reset-failed'),
    mend: async (machine) => allow(machine, ''),
  },
  {
    name: 'full /run on the target',
    options: { lease: '10s' },
    strike: async ({ study }, sweep) => {
      if (!(await printed(sweep, 'launch 4 '))) return;
      study.box.inside('sh', '-c', 'cat /dev/zero >/run/filler 2>/dev/null || true');
      await Promise.race([sweep.result, sleep(60_000)]);
      study.box.inside('rm', '/run/filler');
    },
  },
  {
    name: 'host key changed',
    options: { lease: '10s' },
    strike: async ({ study, link }, sweep) => {
      if (!(await printed(sweep, 'launch 4 '))) return;
      const key = '/etc/ssh/ssh_host_ed25519_key';
      study.box.inside(
        'sh',
        '-c',
        `rm ${key}* && ssh-keygen -q -t ed25519 -N "" -f ${key} && systemctl restart ssh`,
      );
      link.cut();
      link.mend();
    },
    mend: async ({ study, link, knownHosts }) => {
      const [type = '', key = ''] = study.box
        .inside('cat', '/etc/ssh/ssh_host_ed25519_key.pub')
        .split(' ');
      writeFileSync(knownHosts, `[127.0.0.1]:${String(link.port)} ${type} ${key}\n`);
      await Promise.resolve();
    },
  },
  {
    name: 'override.conf with its own ExecStart',
    prepare: async ({ study }) => {
      const unit = study.box.inside('cat', '/etc/systemd/system/sglang.service');
      const command = /^ExecStart=(?:.*\\\n)*.*$/m.exec(unit)?.[0] ?? '';
      study.box.put(
        OVERRIDE,
        `[Service]\nExecStart=\n${command.replace('--tp 4', '--tp 4 --stream-interval 2')}\n`,
      );
      study.box.inside('systemctl', 'daemon-reload');
      study.box.inside('systemctl', 'restart', 'sglang.service');
      await Promise.resolve();
    },
  },
];

/** Load of this machine, which wall-clock figures depend on. */
export function loadAverage(): string {
  return readFileSync('/proc/loadavg', 'utf8').split(' ', 3).join(' ');
}

export function commit(): string {
  return execFileSync('git', ['rev-parse', '--short', 'HEAD'], { encoding: 'utf8' }).trim();
}
