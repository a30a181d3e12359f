import type { AskPassphrase } from '../host/ssh-identities.ts';

/** Passphrases of this process, by key: a link that breaks at night is made again without a person. */
const known = new Map<string, Promise<string | undefined>>();

/**
 * Asks on the terminal for the passphrase of a key, once for each key, and shows nothing of what is
 * typed; undefined where no terminal is there to ask on.
 */
export const askPassphrase: AskPassphrase = async (keyPath) => {
  const before = known.get(keyPath);
  if (before !== undefined) return before;
  const answer = process.stdin.isTTY ? readHidden(`Passphrase of ${keyPath}: `) : undefined;
  known.set(keyPath, Promise.resolve(answer));
  return answer;
};

/** What was asked for in this process; undefined when nothing was, or different ones were. */
export async function askedPassphrase(): Promise<string | undefined> {
  const answers = new Set(await Promise.all(known.values()));
  answers.delete(undefined);
  return answers.size === 1 ? [...answers][0] : undefined;
}

const INTERRUPT = '\u0003';
const ERASE = new Set(['\u007f', '\b']);

async function readHidden(question: string): Promise<string> {
  const { stdin, stderr } = process;
  // First, so that what is typed at once is not shown either.
  stdin.setRawMode(true);
  stdin.setEncoding('utf8');
  stderr.write(question);
  let typed = '';
  try {
    for await (const text of stdin.iterator({ destroyOnReturn: false }) as AsyncIterable<string>) {
      for (const key of text) {
        if (key === INTERRUPT) process.kill(process.pid, 'SIGINT');
        if (key === '\r' || key === '\n') return typed;
        typed = ERASE.has(key) ? typed.slice(0, -1) : typed + key;
      }
    }
    return typed;
  } finally {
    stdin.setRawMode(false);
    stdin.pause();
    stderr.write('\n');
  }
}
