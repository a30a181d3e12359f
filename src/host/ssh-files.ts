import { createHash, randomUUID } from 'node:crypto';
import { createReadStream } from 'node:fs';
import { rename, rm, stat } from 'node:fs/promises';
import { dirname } from 'node:path';
import { pipeline } from 'node:stream/promises';
import type { Client, SFTPWrapper } from 'ssh2';
import { UserError } from '../errors.ts';
import type { Host } from './host.ts';
import { errorMessage } from './ssh-errors.ts';

/** SFTP status codes (draft-ietf-secsh-filexfer-02, 7). */
const NO_SUCH_FILE = 2;
const COMMAND_LIMIT_MS = 60_000;

export async function openSftp(client: Client): Promise<SFTPWrapper> {
  return new Promise((resolve, reject) => {
    client.sftp((error, sftp) => {
      if (error === undefined) resolve(sftp);
      else reject(error);
    });
  });
}

/** Text of a remote file; undefined when there is none. */
export async function readRemote(sftp: SFTPWrapper, path: string): Promise<string | undefined> {
  return new Promise((resolve, reject) => {
    sftp.readFile(path, 'utf8', (error: unknown, data: unknown) => {
      if (error === undefined || error === null) resolve(String(data));
      else if (sftpCode(error) === NO_SUCH_FILE) resolve(undefined);
      else reject(error instanceof Error ? error : new Error('reading failed'));
    });
  });
}

/** Writes `text` to a draft beside `path` and puts it in place in one step. */
export async function replaceRemoteText(
  sftp: SFTPWrapper,
  path: string,
  text: string,
  mode: number,
): Promise<void> {
  const draft = `${path}.${randomUUID()}.draft`;
  try {
    await call((done) => {
      sftp.writeFile(draft, text, { mode }, done);
    });
    // The server's umask applies to a new file.
    await call((done) => {
      sftp.chmod(draft, mode, done);
    });
    await renameOver(sftp, draft, path);
  } catch (error) {
    await removeQuietly(sftp, draft);
    throw error;
  }
}

/** Copies a local file to a draft beside `path`; `prove` checks the draft before it is put in place. */
export async function replaceRemoteFile(
  sftp: SFTPWrapper,
  localPath: string,
  path: string,
  mode: number,
  prove: (draft: string) => Promise<void>,
): Promise<void> {
  const draft = `${path}.${randomUUID()}.draft`;
  try {
    await call((done) => {
      sftp.fastPut(localPath, draft, { mode }, done);
    });
    await prove(draft);
    await call((done) => {
      sftp.chmod(draft, mode, done);
    });
    await renameOver(sftp, draft, path);
  } catch (error) {
    await removeQuietly(sftp, draft);
    throw error;
  }
}

/** Copies a remote file to this machine, in place only when it is whole. */
export async function fetchRemoteFile(
  sftp: SFTPWrapper,
  path: string,
  localPath: string,
  prove: (draft: string) => Promise<void>,
): Promise<void> {
  const draft = `${localPath}.${randomUUID()}.draft`;
  try {
    await call((done) => {
      sftp.fastGet(path, draft, done);
    });
    await prove(draft);
    await rename(draft, localPath);
  } catch (error) {
    await rm(draft, { force: true });
    throw error;
  }
}

/** SHA-256 of a local file, hexadecimal. */
export async function localSha256(path: string): Promise<string> {
  const hash = createHash('sha256');
  await pipeline(createReadStream(path), hash);
  return hash.digest('hex');
}

/** SHA-256 of a remote file, hexadecimal; undefined when it cannot be read. */
export async function remoteSha256(host: Host, path: string): Promise<string | undefined> {
  const result = await host.run({
    argv: ['sha256sum', '--', path],
    timeoutMs: COMMAND_LIMIT_MS,
    repeatable: true,
  });
  return result.exitCode === 0 ? /^\\?([0-9a-f]{64})/.exec(result.stdout)?.[1] : undefined;
}

/**
 * A failed write as an error for the user. SFTP says just "Failure" for a full or read-only disk,
 * so the reason is asked for by trying to write there once more.
 */
export async function writeProblem(
  host: Host,
  path: string,
  error: unknown,
  sizeBytes: number,
): Promise<UserError> {
  if (error instanceof UserError) return error;
  const folder = dirname(path);
  const probe = await host.run({
    argv: [
      'sh',
      '-c',
      'd=$1.probe; head -c "$2" /dev/zero >"$d"; s=$?; rm -f "$d"; exit $s',
      'sh',
      path,
      String(Math.max(1, sizeBytes)),
    ],
    timeoutMs: COMMAND_LIMIT_MS,
    repeatable: true,
  });
  const because = probe.stderr.trim().split('\n').at(-1)?.split(': ').at(-1);
  const reason = probe.exitCode === 0 || because === undefined ? errorMessage(error) : because;
  return new UserError(`cannot write ${path} on ${host.name}: ${reason}`, {
    hint: `Check space and permissions there: df -h ${folder}; ls -ld ${folder}`,
    cause: error,
  });
}

export async function localSizeBytes(path: string): Promise<number> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    throw new UserError(`cannot read ${path}`, { cause: error });
  }
}

async function renameOver(sftp: SFTPWrapper, from: string, to: string): Promise<void> {
  await call((done) => {
    // Plain SFTP rename refuses an existing target; OpenSSH's extension is rename(2).
    sftp.ext_openssh_rename(from, to, done);
  });
}

async function removeQuietly(sftp: SFTPWrapper, path: string): Promise<void> {
  await call((done) => {
    sftp.unlink(path, done);
  }).catch(() => undefined);
}

/** SFTP calls neither end nor fail when the connection breaks under them, so that is watched too. */
async function call(start: (done: (error?: Error | null) => void) => void): Promise<void> {
  await new Promise<void>((resolve, reject) => {
    start((error) => {
      if (error === undefined || error === null) resolve();
      else reject(error);
    });
  });
}

function sftpCode(error: unknown): number | undefined {
  const code = error instanceof Error && 'code' in error ? error.code : undefined;
  return typeof code === 'number' ? code : undefined;
}
