import { type ChildProcess, execFileSync, spawn } from 'node:child_process';
import {
  chmodSync,
  existsSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs';
import { createConnection, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { dirname, join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';

/** A booted systemd with sshd on a loopback port of this machine. Disposing ends and removes it. */
export interface Container extends AsyncDisposable {
  readonly sshPort: number;
  /** Folder for the test's own files: `user_key`, `known_hosts`, `ssh_config` (alias `box`). */
  readonly folder: string;
  readonly sshConfigPath: string;
  readonly knownHostsPath: string;
  readonly userKeyPath: string;
  /** Runs a command as root inside, past ssh; returns stdout, throws with stderr on failure. */
  inside(...argv: readonly string[]): string;
  /** Writes a file inside, past ssh. */
  put(path: string, text: string, mode?: number): void;
  /** Waits until the container was rebooted and answers on its ssh port again. */
  reboot(): Promise<void>;
  console(): string;
}

export interface BootOptions {
  /** Lines for sshd_config, such as `MaxSessions 2`. */
  readonly sshd?: readonly string[];
  /** Files put over the image before the boot: path to text. */
  readonly files?: Readonly<Record<string, string>>;
  /** Paths of this machine shown inside at the same place, read-only. */
  readonly readOnlyBinds?: readonly string[];
}

const here = import.meta.dirname;

/**
 * Why no container can boot here, or undefined when one can. With `CI` set nothing is a reason:
 * there a test that cannot run must fail, not vanish.
 */
export function whyNoContainer(): string | undefined {
  if (process.env['CI'] !== undefined && process.env['CI'] !== '') return undefined;
  if (process.getuid?.() !== 0) return 'booting a container needs root';
  for (const program of ['systemd-nspawn', 'debootstrap', 'ssh', 'ssh-keygen']) {
    if (!onPath(program)) return `${program} is not installed`;
  }
  return undefined;
}

/** Boots a clean container in about three seconds; the first call ever builds the image. */
export async function bootContainer(options: BootOptions = {}): Promise<Container> {
  const image = execFileSync(join(here, 'build-image.sh'), {
    encoding: 'utf8',
    stdio: ['ignore', 'pipe', 'inherit'],
  }).trim();
  const folder = mkdtempSync(join(tmpdir(), 'nightsweep-container-'));
  const sshPort = await freePort();
  prepare(folder, sshPort, options);
  const binds = (options.readOnlyBinds ?? []).map((path) => `--bind-ro=${path}`);
  const boot = spawn(join(here, 'boot.sh'), [image, folder, ...binds], {
    stdio: ['pipe', 'ignore', 'inherit'],
  });
  const container = new BootedContainer(folder, sshPort, boot);
  try {
    await container.waitForSsh();
  } catch (error) {
    const text = container.console();
    await container[Symbol.asyncDispose]();
    throw new Error(`the container did not boot:\n${text}`, { cause: error });
  }
  return container;
}

class BootedContainer implements Container {
  readonly sshConfigPath: string;
  readonly knownHostsPath: string;
  readonly userKeyPath: string;
  readonly folder: string;
  readonly sshPort: number;
  readonly #boot: ChildProcess;
  readonly #ended: Promise<void>;

  constructor(folder: string, sshPort: number, boot: ChildProcess) {
    this.folder = folder;
    this.sshPort = sshPort;
    this.#boot = boot;
    this.#ended = new Promise((resolve) => {
      boot.once('exit', () => {
        resolve();
      });
    });
    this.sshConfigPath = join(folder, 'ssh_config');
    this.knownHostsPath = join(folder, 'known_hosts');
    this.userKeyPath = join(folder, 'user_key');
  }

  inside(...argv: readonly string[]): string {
    const pid = this.#initPid();
    return execFileSync(
      'nsenter',
      [`--target=${pid}`, '--mount', '--pid', '--uts', '--ipc', '--root', '--wd', '--', ...argv],
      {
        encoding: 'utf8',
        stdio: ['ignore', 'pipe', 'pipe'],
        env: { PATH: '/usr/local/sbin:/usr/local/bin:/usr/sbin:/usr/bin:/sbin:/bin' },
        maxBuffer: 64 * 1024 * 1024,
      },
    );
  }

  put(path: string, text: string, mode = 0o644): void {
    const target = `/proc/${this.#initPid()}/root${path}`;
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text);
    chmodSync(target, mode);
  }

  async reboot(): Promise<void> {
    const before = this.#initPid();
    this.inside('systemctl', 'reboot', '--no-block');
    const deadline = Date.now() + BOOT_LIMIT_MS;
    while (Date.now() < deadline && [undefined, before].includes(this.#findInit()))
      await sleep(100);
    await this.waitForSsh();
  }

  console(): string {
    const path = join(this.folder, 'console.log');
    return existsSync(path) ? readFileSync(path, 'utf8') : '';
  }

  async waitForSsh(): Promise<void> {
    const deadline = Date.now() + BOOT_LIMIT_MS;
    while (!(await greets(this.sshPort))) {
      if (this.#boot.exitCode !== null) throw new Error('systemd-nspawn ended');
      if (Date.now() > deadline) throw new Error('sshd did not answer in time');
      await sleep(100);
    }
  }

  async [Symbol.asyncDispose](): Promise<void> {
    this.#boot.stdin?.destroy();
    await this.#ended;
    rmSync(this.folder, { recursive: true, force: true });
  }

  /** The container's first process, as this machine numbers it. */
  #initPid(): number {
    const pid = this.#findInit();
    if (pid === undefined) throw new Error('the container has no running systemd');
    return pid;
  }

  #findInit(): number | undefined {
    return descendantsOf(this.#boot.pid).find(isInit);
  }
}

const BOOT_LIMIT_MS = 60_000;

function prepare(folder: string, sshPort: number, { sshd = [], files = {} }: BootOptions): void {
  const upper = join(folder, 'upper');
  chmodSync(folder, 0o755);
  const put = (path: string, text: string, mode = 0o644) => {
    const target = join(upper, path);
    mkdirSync(dirname(target), { recursive: true });
    writeFileSync(target, text, { mode });
  };
  const config = [
    `Port ${sshPort}`,
    'ListenAddress 127.0.0.1',
    'PermitRootLogin prohibit-password',
  ];
  put('/etc/ssh/sshd_config.d/test.conf', `${[...config, ...sshd].join('\n')}\n`);
  for (const [path, text] of Object.entries(files)) put(path, text);
  const hostKey = join(upper, 'etc/ssh/ssh_host_ed25519_key');
  makeKey(hostKey);
  const userKey = join(folder, 'user_key');
  makeKey(userKey);
  const publicKey = readFileSync(`${userKey}.pub`, 'utf8');
  put('/root/.ssh/authorized_keys', publicKey, 0o600);
  for (const path of ['root', 'root/.ssh']) chmodSync(join(upper, path), 0o700);
  put('/home/alice/.ssh/authorized_keys', publicKey, 0o600);
  const alice = join(upper, 'home/alice');
  for (const path of [alice, join(alice, '.ssh'), join(alice, '.ssh/authorized_keys')]) {
    execFileSync('chown', [`${ALICE_ID}:${ALICE_ID}`, path]);
  }
  const [type, key] = readFileSync(`${hostKey}.pub`, 'utf8').split(' ');
  writeFileSync(join(folder, 'known_hosts'), `[127.0.0.1]:${sshPort} ${type} ${key}\n`);
  writeFileSync(
    join(folder, 'ssh_config'),
    `Host box
  HostName 127.0.0.1
  Port ${sshPort}
  User root
  IdentityFile ${userKey}
  IdentitiesOnly yes
  UserKnownHostsFile ${join(folder, 'known_hosts')}
  GlobalKnownHostsFile /dev/null
`,
  );
}

/** User id of `alice` in the image. */
const ALICE_ID = 1500;

function makeKey(path: string): void {
  mkdirSync(dirname(path), { recursive: true });
  execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-C', 'test', '-f', path]);
}

function descendantsOf(pid: number | undefined): number[] {
  if (pid === undefined) return [];
  const children = readIfThere(`/proc/${pid}/task/${pid}/children`).split(' ').filter(Boolean);
  return children.map(Number).flatMap((child) => [child, ...descendantsOf(child)]);
}

/** Whether the process is number 1 of its own pid namespace. */
function isInit(pid: number): boolean {
  return /^NSpid:\t\d+\t1$/m.test(readIfThere(`/proc/${pid}/status`));
}

function readIfThere(path: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch {
    return '';
  }
}

function onPath(program: string): boolean {
  const folders = (process.env['PATH'] ?? '').split(':');
  return [...folders, '/usr/sbin', '/sbin'].some((folder) => existsSync(join(folder, program)));
}

/** Whether an ssh server says its version at the port. */
async function greets(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = createConnection({ host: '127.0.0.1', port });
    const settle = (answer: boolean) => {
      socket.destroy();
      resolve(answer);
    };
    socket.setTimeout(1000, () => {
      settle(false);
    });
    socket.once('data', (chunk: Buffer) => {
      settle(chunk.toString('latin1').startsWith('SSH-'));
    });
    socket.once('error', () => {
      settle(false);
    });
    socket.once('close', () => {
      settle(false);
    });
  });
}

/** A port of this machine that nobody listens on; another process could still take it. */
export async function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => {
        if (address !== null && typeof address === 'object') resolve(address.port);
        else reject(new Error('no free port'));
      });
    });
  });
}
