import { setTimeout as sleep } from 'node:timers/promises';
import { systemClock } from '../../../src/clock.ts';
import { openSshHost, type SshHost } from '../../../src/host/ssh-host.ts';
import { openSystemd, type SystemdAccess } from '../../../src/server/systemd-access.ts';
import {
  describeProduction,
  type SystemdJournal,
  writeJournal,
} from '../../../src/server/systemd-journal.ts';
import { armLease, type Lease } from '../../../src/server/systemd-lease.ts';
import { type LockOwner, takeLock, thisTuner } from '../../../src/server/systemd-lock.ts';
import { SystemdTarget } from '../../../src/server/systemd-target.ts';
import type { LaunchRequest } from '../../../src/server/target.ts';
import {
  type BootOptions,
  bootContainer,
  type Container,
  freePort,
} from '../../container/boot-container.ts';

/** A stand-in for SGLang: answers with its own argv and environment; some flags make it fail. */
const SERVER = `import http.server, json, os, sys, time
args = sys.argv[1:]
print("args", json.dumps(args), flush=True)
if "--crash" in args: sys.exit(7)
class Handler(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        if self.path == "/die": os._exit(9)
        body = json.dumps({"argv": args, "env": dict(os.environ), "pid": os.getpid()}).encode()
        self.send_response(200)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)
    def log_message(self, *rest): pass
if "--stubborn" in args:
    import signal
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
if "--stray" in args:
    import subprocess
    subprocess.Popen(["setsid", "sleep", "4799"])
http.server.ThreadingHTTPServer.allow_reuse_address = True
http.server.ThreadingHTTPServer(("127.0.0.1", int(args[args.index("--port") + 1])), Handler).serve_forever()
`;

export interface Answer {
  readonly argv: readonly string[];
  readonly env: Readonly<Record<string, string>>;
  readonly pid: number;
}

/** A booted machine with a production unit, and everything a sweep needs to hold it. */
export interface ProductionBox extends AsyncDisposable {
  readonly box: Container;
  readonly host: SshHost;
  readonly access: SystemdAccess;
  readonly port: number;
  readonly argv: readonly string[];
  readonly environment: Readonly<Record<string, string>>;
  readonly baseUrl: string;
  readonly ask: () => Promise<Answer>;
  /** What the server answers, or why there is no answer. */
  readonly answer: () => Promise<Answer | string>;
  /** Journal, lock and lease as a sweep takes them, and the target. */
  take(options?: { readonly leaseSeconds?: number }): Promise<Taken>;
  request(changes?: Partial<LaunchRequest>): LaunchRequest;
}

export interface Taken {
  readonly target: SystemdTarget;
  readonly journal: SystemdJournal;
  readonly owner: LockOwner;
  readonly lease: Lease;
}

export const UNIT = 'llm.service';

export interface ProductionOptions extends BootOptions {
  /** More lines of [Service]. */
  readonly service?: readonly string[];
}

/** Boots a machine whose production unit serves on a free port. */
export async function bootProduction(options: ProductionOptions = {}): Promise<ProductionBox> {
  const port = await freePort();
  const unit = unitText(port, options.service ?? ['Restart=always', 'RestartSec=100ms']);
  const box = await bootContainer({
    ...options,
    files: {
      '/opt/serve.py': SERVER,
      [`/etc/systemd/system/${UNIT}`]: unit,
      '/etc/llm.env': 'FROM_FILE="file value"\nTOKEN=production-secret\n',
      ...options.files,
    },
  });
  try {
    box.inside('systemctl', 'enable', '--quiet', '--now', UNIT);
    const host = await openSshHost('box', { configPath: box.sshConfigPath });
    const access = await openSystemd({ host, unit: UNIT });
    const machine = productionBox(box, host, access, port);
    while (typeof (await machine.answer()) === 'string') await sleep(50);
    return machine;
  } catch (error) {
    await box[Symbol.asyncDispose]();
    throw error;
  }
}

export function unitText(port: number, service: readonly string[]): string {
  return `[Unit]
Description=Production
[Service]
Environment="A=one two" B=b
EnvironmentFile=/etc/llm.env
${service.join('\n')}
ExecStart=/usr/bin/python3 /opt/serve.py --port ${port} --mode production
[Install]
WantedBy=multi-user.target
`;
}

function productionBox(
  box: Container,
  host: SshHost,
  access: SystemdAccess,
  port: number,
): ProductionBox {
  const argv = [
    '/usr/bin/python3',
    '/opt/serve.py',
    '--port',
    String(port),
    '--mode',
    'production',
  ];
  const environment = { A: 'one two', B: 'b', FROM_FILE: 'file value', TOKEN: 'production-secret' };
  const baseUrl = `http://127.0.0.1:${port}`;
  const ask = async () => {
    const response = await fetch(baseUrl, { headers: { connection: 'close' } });
    return (await response.json()) as Answer;
  };
  return {
    box,
    host,
    access,
    port,
    argv,
    environment,
    baseUrl,
    ask,
    answer: async () => ask().catch((error: unknown) => String(error)),
    request: (changes = {}) => ({
      argv,
      environment,
      baseUrl,
      logPath: `${box.folder}/server.log`,
      ...changes,
    }),
    take: async ({ leaseSeconds = 900 } = {}) => {
      const journal = await describeProduction(access, 'test', Date.now());
      const owner = await thisTuner('test', Date.now());
      await takeLock(access, owner, { nowMs: Date.now() });
      await writeJournal(access, journal);
      const lease = await armLease(access, journal, { leaseSeconds, clock: systemClock });
      const target = new SystemdTarget({
        access,
        production: { environment },
        journal,
        owner,
        clock: systemClock,
        stopLimits: { stopSeconds: 3, killSeconds: 10 },
      });
      return { target, journal, owner, lease };
    },
    [Symbol.asyncDispose]: async () => {
      await host[Symbol.asyncDispose]();
      await box[Symbol.asyncDispose]();
    },
  };
}
