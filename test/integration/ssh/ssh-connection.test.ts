import { execFileSync, spawn } from 'node:child_process';
import { chmodSync, readFileSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { setTimeout as sleep } from 'node:timers/promises';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { openSshHost, type SshHostOptions } from '../../../src/host/ssh-host.ts';
import { bootContainer, type Container } from '../../container/boot-container.ts';
import { startProxy } from '../../container/cutting-proxy.ts';
import { describeContainer } from '../../container/describe-container.ts';

describeContainer('ssh connections', () => {
  let box: Container;
  const agentSocket = process.env['SSH_AUTH_SOCK'];

  beforeAll(async () => {
    delete process.env['SSH_AUTH_SOCK'];
    box = await bootContainer({ sshd: ['MaxSessions 2'] });
  }, 120_000);

  afterAll(async () => {
    if (agentSocket !== undefined) process.env['SSH_AUTH_SOCK'] = agentSocket;
    await box[Symbol.asyncDispose]();
  });

  afterEach(() => {
    delete process.env['SSH_AUTH_SOCK'];
    delete process.env['NIGHTSWEEP_SSH_PASSPHRASE'];
  });

  /** Writes an ssh configuration with one more alias and connects to it. */
  async function connect(lines: readonly string[], options: SshHostOptions = {}, name = 'other') {
    const path = join(box.folder, `config-${Math.random().toString(36).slice(2)}`);
    const own = [
      `Host ${name}`,
      ...lines,
      ...(lines.some((line) => line.startsWith('HostName')) ? [] : ['HostName 127.0.0.1']),
      ...(lines.some((line) => line.startsWith('Port')) ? [] : [`Port ${box.sshPort}`]),
      ...(lines.some((line) => line.startsWith('User ')) ? [] : ['User root']),
      ...(lines.some((line) => line.startsWith('IdentityFile'))
        ? []
        : [`IdentityFile ${box.userKeyPath}`]),
      ...(lines.some((line) => line.startsWith('UserKnown'))
        ? []
        : [`UserKnownHostsFile ${box.knownHostsPath}`]),
      'GlobalKnownHostsFile /dev/null',
    ];
    writeFileSync(path, `${own.join('\n  ')}\n${readFileSync(box.sshConfigPath, 'utf8')}`);
    return openSshHost(name, { configPath: path, firstPatienceMs: 20_000, ...options });
  }

  async function says(lines: readonly string[], options: SshHostOptions = {}): Promise<string> {
    const host = await connect(lines, options);
    try {
      return (await host.run({ argv: ['whoami'], timeoutMs: 10_000 })).stdout.trim();
    } finally {
      await host[Symbol.asyncDispose]();
    }
  }

  /** A known_hosts file with the server's true key under another first word. */
  function knownHosts(name: string, edit: (line: string) => string): string {
    const path = join(box.folder, name);
    writeFileSync(path, edit(readFileSync(box.knownHostsPath, 'utf8')));
    return path;
  }

  function newKey(name: string, passphrase = ''): string {
    const path = join(box.folder, name);
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', passphrase, '-C', name, '-f', path]);
    const authorized = box.inside('cat', '/root/.ssh/authorized_keys');
    box.put('/root/.ssh/authorized_keys', authorized + readFileSync(`${path}.pub`, 'utf8'), 0o600);
    return path;
  }

  test('alias, user, port and key come from the ssh configuration (E7)', async () => {
    expect(await says(['User alice'])).toBe('alice');
  });

  test('a hashed line with the port vouches for the key (E6)', async () => {
    const path = knownHosts('hashed', (line) => line);
    execFileSync('ssh-keygen', ['-q', '-H', '-f', path], { stdio: 'ignore' });
    expect(readFileSync(path, 'utf8')).toMatch(/^\|1\|/);
    expect(await says([`UserKnownHostsFile ${path}`])).toBe('root');
  });

  test('an unknown host is refused with its fingerprint and how to accept it (E6)', async () => {
    const fingerprint = execFileSync(
      'ssh-keygen',
      ['-lf', join(box.folder, 'upper/etc/ssh/ssh_host_ed25519_key.pub')],
      { encoding: 'utf8' },
    ).split(' ')[1];
    await expect(says(['UserKnownHostsFile /dev/null'])).rejects.toMatchObject({
      message: expect.stringContaining(fingerprint ?? '?') as string,
      hint: expect.stringContaining('ssh other true') as string,
    });
  });

  test('an unknown host whose fingerprint the user wrote down is accepted', async () => {
    const text = execFileSync(
      'ssh-keygen',
      ['-lf', join(box.folder, 'upper/etc/ssh/ssh_host_ed25519_key.pub')],
      { encoding: 'utf8' },
    );
    const options = { acceptedHostKeys: [text.split(' ')[1] ?? ''] };
    expect(await says(['UserKnownHostsFile /dev/null'], options)).toBe('root');
  });

  test('a changed key is refused even when its fingerprint was written down (E6)', async () => {
    const other = readFileSync(`${newKey('other-host-key')}.pub`, 'utf8').split(' ')[1];
    const path = knownHosts('wrong', (line) => line.replace(/AAAA\S+/, other ?? ''));
    const text = execFileSync(
      'ssh-keygen',
      ['-lf', join(box.folder, 'upper/etc/ssh/ssh_host_ed25519_key.pub')],
      { encoding: 'utf8' },
    );
    const options = { acceptedHostKeys: [text.split(' ')[1] ?? ''] };
    await expect(says([`UserKnownHostsFile ${path}`], options)).rejects.toThrow(/has changed/);
  });

  test('a revoked key is refused', async () => {
    const path = knownHosts(
      'revoked',
      (line) => `${line}@revoked * ${line.split(' ').slice(1).join(' ')}`,
    );
    await expect(says([`UserKnownHostsFile ${path}`])).rejects.toThrow(/revoked/);
  });

  test('a known_hosts file that cannot be read refuses the connection (E6)', async () => {
    const folder = join(box.folder, 'upper');
    await expect(says([`UserKnownHostsFile ${folder}`])).rejects.toThrow(/cannot read/);
  });

  test('a jump host with an unknown key is refused before the target is reached', async () => {
    const lines = [
      'ProxyJump hop',
      '',
      'Host hop',
      'HostName 127.0.0.1',
      `Port ${box.sshPort}`,
      'User root',
      `IdentityFile ${box.userKeyPath}`,
      'UserKnownHostsFile /dev/null',
      '',
      'Host other',
    ];
    await expect(says(lines)).rejects.toThrow(/hop .* is not known/);
  });

  test('a jump host is passed', async () => {
    expect(await says(['ProxyJump alice@box', 'User root'])).toBe('root');
  });

  test('a chain of two jump hosts is passed', async () => {
    expect(await says(['ProxyJump alice@box,root@box', 'User alice'])).toBe('alice');
  });

  test('a proxy command is used', async () => {
    expect(await says([`ProxyCommand ssh -F ${box.sshConfigPath} -W %h:%p box`])).toBe('root');
  });

  test('a refused key is not tried again and the error says what was skipped', async () => {
    const stranger = join(box.folder, 'stranger');
    execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', 'secret words', '-f', stranger]);
    await using proxy = await startProxy(box.sshPort);
    const path = knownHosts('proxy-auth', (line) =>
      line.replace(`:${box.sshPort}`, `:${proxy.port}`),
    );
    await expect(
      says([`IdentityFile ${stranger}`, `Port ${proxy.port}`, `UserKnownHostsFile ${path}`]),
    ).rejects.toThrow(/refuses our keys.*encrypted, and not in the agent/);
    expect(proxy.accepted()).toBe(1);
  });

  test('an encrypted key is opened with the passphrase of the environment', async () => {
    const key = newKey('encrypted-env', 'open sesame');
    process.env['NIGHTSWEEP_SSH_PASSPHRASE'] = 'open sesame';
    expect(await says([`IdentityFile ${key}`, 'IdentitiesOnly yes'])).toBe('root');
  });

  test('an encrypted key is opened with the passphrase that was asked for', async () => {
    const key = newKey('encrypted-ask', 'open sesame');
    const asked: string[] = [];
    const askPassphrase = async (path: string) => {
      asked.push(path);
      return Promise.resolve('open sesame');
    };
    expect(await says([`IdentityFile ${key}`, 'IdentitiesOnly yes'], { askPassphrase })).toBe(
      'root',
    );
    expect(asked).toEqual([key]);
  });

  test('an encrypted key that the agent holds needs no passphrase, with IdentitiesOnly (E7)', async () => {
    const key = newKey('encrypted-agent');
    const decoys = Array.from({ length: 8 }, (_, i) => {
      const path = join(box.folder, `decoy-${i}`);
      execFileSync('ssh-keygen', ['-q', '-t', 'ed25519', '-N', '', '-f', path]);
      return path;
    });
    const socket = join(box.folder, 'agent');
    const agent = spawn('ssh-agent', ['-D', '-a', socket], { stdio: 'ignore' });
    try {
      await expect
        .poll(() => {
          chmodSync(socket, 0o600);
          return true;
        })
        .toBe(true);
      const env = { ...process.env, SSH_AUTH_SOCK: socket };
      for (const path of [...decoys, key])
        execFileSync('ssh-add', ['-q', path], { env, stdio: 'ignore' });
      execFileSync('ssh-keygen', ['-q', '-p', '-P', '', '-N', 'locked', '-f', key], {
        stdio: 'ignore',
      });
      process.env['SSH_AUTH_SOCK'] = socket;
      expect(await says([`IdentityFile ${key}`, 'IdentitiesOnly yes'])).toBe('root');
      expect(await says([`IdentityFile ${key}`])).toBe('root');
    } finally {
      agent.kill();
    }
  });

  test('a server that drops two of three connections is reached (E4)', async () => {
    await using proxy = await startProxy(box.sshPort, { drops: (n) => n % 3 !== 0 });
    const path = knownHosts('proxy-drop', (line) =>
      line.replace(`:${box.sshPort}`, `:${proxy.port}`),
    );
    expect(await says([`Port ${proxy.port}`, `UserKnownHostsFile ${path}`])).toBe('root');
    expect(proxy.accepted()).toBe(3);
  });

  test('with MaxSessions 2 thirty commands and file reads at once all succeed (E5)', async () => {
    const host = await connect([]);
    const results = await Promise.all(
      Array.from({ length: 30 }, async (_, i) =>
        i % 3 === 0
          ? host.readText('/etc/hostname')
          : host
              .run({ argv: ['echo', 'nightsweep-test'], timeoutMs: 20_000 })
              .then(({ stdout }) => stdout),
      ),
    );
    await host[Symbol.asyncDispose]();
    expect(new Set(results)).toEqual(new Set(['nightsweep-test\n']));
  });

  test('a command that may be repeated survives a cut link, and ran once at a time', async () => {
    await using proxy = await startProxy(box.sshPort);
    const path = knownHosts('proxy-cut', (line) =>
      line.replace(`:${box.sshPort}`, `:${proxy.port}`),
    );
    const host = await connect([`Port ${proxy.port}`, `UserKnownHostsFile ${path}`]);
    const running = host.run({
      argv: ['sh', '-c', 'echo begin >>/root/runs; sleep 3; echo end >>/root/runs; echo done'],
      timeoutMs: 20_000,
      repeatable: true,
    });
    await expect
      .poll(() => box.inside('sh', '-c', 'cat /root/runs 2>/dev/null || true'))
      .toBe('begin\n');
    proxy.cut();
    await sleep(1000);
    proxy.mend();
    expect((await running).stdout).toBe('done\n');
    expect(box.inside('cat', '/root/runs')).toBe('begin\nbegin\nend\n');
    await host[Symbol.asyncDispose]();
  });

  test('any other command that a cut link interrupts is an error, and does not run on', async () => {
    await using proxy = await startProxy(box.sshPort);
    const path = knownHosts('proxy-cut2', (line) =>
      line.replace(`:${box.sshPort}`, `:${proxy.port}`),
    );
    const host = await connect([`Port ${proxy.port}`, `UserKnownHostsFile ${path}`]);
    const running = host.run({ argv: ['sleep', '4730'], timeoutMs: 60_000 });
    running.catch(() => undefined);
    await expect.poll(() => box.inside('sh', '-c', 'pgrep -fx "sleep 4730" || true')).not.toBe('');
    proxy.cut();
    proxy.mend();
    await expect(running).rejects.toThrow(/broke while "sleep" ran there/);
    expect(box.inside('sh', '-c', 'pgrep -fx "sleep 4730" || true')).toBe('');
    await host[Symbol.asyncDispose]();
  });

  test.each(['-oProxyCommand=touch', 'a b', '$(id)', 'x;y', ''])(
    '%j is no name to connect to',
    async (name) => {
      await expect(openSshHost(name)).rejects.toThrow(/not a name/);
    },
  );
});
