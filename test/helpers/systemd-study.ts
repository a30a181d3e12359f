import { realpathSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { bootContainer, type Container, freePort } from '../container/boot-container.ts';
import { MAIN, type RunningCli, startCli } from './run-cli.ts';

const REPOSITORY = join(import.meta.dirname, '..', '..');
/** What this program needs to run inside; a worktree's node_modules is a link to elsewhere. */
export const PROGRAM_BINDS: readonly string[] = [
  REPOSITORY,
  realpathSync(join(REPOSITORY, 'node_modules')),
  process.execPath,
];

const UNIT = 'sglang.service';
const FOLDER = `/etc/systemd/system/${UNIT}.d`;

/** Empty while no process runs. */
const SHOW_COMMAND = `
pid=$(systemctl show ${UNIT} --property=MainPID --value)
cat /proc/$pid/cmdline 2>/dev/null | tr '\\0' ' '`;

/** A machine behind ssh whose unit is a simulated SGLang, and a study of it. */
export interface SystemdStudy extends AsyncDisposable {
  readonly box: Container;
  readonly file: string;
  readonly database: string;
  readonly baseUrl: string;
  /** `nightsweep COMMAND ...` with this machine's ssh configuration. */
  start(...words: readonly string[]): RunningCli;
  /** The same through another ssh configuration. */
  startWith(sshConfig: string, ...words: readonly string[]): RunningCli;
  readonly port: number;
  /** What must be the same before and after: files, states, command, and nothing of ours. */
  production(): string;
  /** The command line of the unit's process; empty while none runs. */
  command(): string;
  /** A real completion; throws when there is none. */
  complete(): Promise<number>;
}

export interface SystemdStudyOptions {
  readonly lease?: string;
  readonly speed?: number;
  /** `--max-running-requests` of production. */
  readonly running?: number;
  /** Sections of the study file in place of the usual ones. */
  readonly study?: Readonly<Record<string, unknown>>;
  /** Lines for sshd_config. */
  readonly sshd?: readonly string[];
  /** More files inside: path to text. */
  readonly files?: Readonly<Record<string, string>>;
}

/** Boots the machine and waits until production serves. */
export async function systemdStudy({
  lease = '15m',
  speed = 20,
  running = 1,
  study: sections = {},
  sshd = [],
  files = {},
}: SystemdStudyOptions = {}): Promise<SystemdStudy> {
  const port = await freePort();
  const box = await bootContainer({
    readOnlyBinds: PROGRAM_BINDS,
    sshd,
    files: {
      [`/etc/systemd/system/${UNIT}`]: unitText(port, speed, running),
      [`${FOLDER}/override.conf`]: '[Service]\nEnvironment=OMP_NUM_THREADS=4\n',
      '/etc/sglang.env': 'HF_TOKEN=hf_production_secret\n',
      ...files,
    },
  });
  const file = join(box.folder, 'study.yaml');
  const baseUrl = `http://127.0.0.1:${port}`;
  // JSON is YAML.
  const study = {
    study: 'night',
    target: { ssh: 'box', unit: UNIT, lease, base_url: baseUrl },
    profile: { 1: 0.2, 8: 0.8 },
    parameters: { 'max-running-requests': [1, 2, 8] },
    workload: { prompts: 'code', input_tokens: 100, output_tokens: 20, requests: 16 },
    measure: { finalists: 1, launches: 2, warm_up: { requests: 1 } },
    ...sections,
  };
  writeFileSync(file, JSON.stringify(study));
  const inside = (script: string) => box.inside('sh', '-c', script);
  const machine: SystemdStudy = {
    box,
    file,
    database: join(box.folder, 'night.sqlite'),
    baseUrl,
    port,
    start: (...words) => machine.startWith(box.sshConfigPath, ...words),
    startWith: (sshConfig, ...words) =>
      startCli(words, {
        cwd: box.folder,
        environment: { NIGHTSWEEP_SSH_CONFIG: sshConfig, SSH_AUTH_SOCK: '' },
      }),
    production: () =>
      inside(`
        sha256sum /etc/systemd/system/${UNIT} ${FOLDER}/*
        systemctl show ${UNIT} --property=ActiveState,UnitFileState,DropInPaths,NeedDaemonReload
        find /run/systemd/system/${UNIT}.d /run/nightsweep/${UNIT} -type f 2>/dev/null
        systemctl list-units --all --no-legend 'nightsweep-*' | cat
        ${SHOW_COMMAND}`),
    command: () => inside(SHOW_COMMAND),
    complete: async () => {
      const response = await fetch(`${baseUrl}/generate`, {
        method: 'POST',
        headers: { 'content-type': 'application/json', connection: 'close' },
        body: JSON.stringify({ text: 'one, two,', sampling_params: { max_new_tokens: 4 } }),
      });
      return response.status;
    },
    [Symbol.asyncDispose]: () => box[Symbol.asyncDispose](),
  };
  try {
    box.inside('systemctl', 'enable', '--quiet', '--now', UNIT);
    await served(machine, 30);
    return machine;
  } catch (error) {
    await box[Symbol.asyncDispose]();
    throw error;
  }
}

/** Waits for a completion; throws what the last attempt failed with. */
export async function served(machine: SystemdStudy, seconds: number): Promise<void> {
  const deadline = Date.now() + seconds * 1000;
  for (;;) {
    const status = await machine.complete().catch(String);
    if (status === 200) return;
    if (Date.now() > deadline) throw new Error(`production does not serve: ${status}`);
    await sleep(100);
  }
}

function unitText(port: number, speed: number, running: number): string {
  return `[Unit]
Description=SGLang, simulated
[Service]
Environment=SGLANG_ENABLE_SPEC_V2=1 "NCCL_ALGO=Ring"
EnvironmentFile=/etc/sglang.env
ExecStart=${process.execPath} ${MAIN} simulate \\
  --speed ${speed} --sim-start-seconds 2 --sim-launch-noise 0 --sim-seed 7 \\
  --model-path /models/Qwen3.5-122B-A10B --tp 4 \\
  --host 127.0.0.1 --port ${port} \\
  --max-running-requests ${running}
Restart=always
RestartSec=1
[Install]
WantedBy=multi-user.target
`;
}
