import { once } from 'node:events';
import { readFile } from 'node:fs/promises';
import { createServer, type Server } from 'node:http';
import { join } from 'node:path';
import { text } from 'node:stream/consumers';
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { createNotifier } from '../../src/cli/notify.ts';
import { parseStudy } from '../../src/config/load-study.ts';
import type { NotifyConfig } from '../../src/config/study.ts';
import { localHost } from '../../src/host/local-host.ts';
import { temporaryFolder } from '../helpers/temporary-folder.ts';

let server: Server;
let address: string;
let posts: string[];
let status: number;
let warnings: string[];

beforeEach(async () => {
  [posts, warnings, status] = [[], [], 200];
  server = createServer((request, response) => {
    void text(request).then((body) => {
      posts.push(body);
      response.writeHead(status).end();
    });
  }).listen(0, '127.0.0.1');
  await once(server, 'listening');
  const bound = server.address();
  if (bound === null || typeof bound === 'string') throw new Error('no port');
  address = `http://127.0.0.1:${bound.port}/hook`;
});

afterEach(() => {
  server.close();
});

const END = { event: 'end', study: 'night', text: 'trial 4 wins: "+8 %"' } as const;

function notifier(config: Partial<NotifyConfig>, environment: Record<string, string> = {}) {
  const warn = (line: string) => warnings.push(line);
  return createNotifier({ on: ['end'], ...config }, { host: localHost, environment, warn });
}

describe('a webhook', () => {
  test('gets event, study and text as JSON', async () => {
    await notifier({ webhook: address })(END);
    expect(posts.map((body) => JSON.parse(body) as unknown)).toEqual([END]);
  });

  test('gets the body of the study file, in which quotes of the text stay JSON', async () => {
    await notifier({ webhook: address, body: '{"text": "$study: $text"}' })(END);
    expect(JSON.parse(posts[0] ?? '')).toEqual({ text: 'night: trial 4 wins: "+8 %"' });
  });

  test('never gets a secret', async () => {
    await notifier({ webhook: address })({ ...END, text: 'failed: --api-key sk-12345 is wrong' });
    expect(posts[0]).not.toContain('sk-12345');
  });

  test('may have its address in a variable', async () => {
    await notifier({ webhookEnv: 'HOOK' }, { HOOK: address })(END);
    expect(posts.length).toBe(1);
  });

  test('hears only of the events it asked for', async () => {
    await notifier({ webhook: address })({ ...END, event: 'trouble' });
    expect(posts).toEqual([]);
  });

  test('that refuses is a warning, and nothing else', async () => {
    status = 500;
    await notifier({ webhook: address })(END);
    expect(warnings).toEqual(['warning: the notify webhook failed: HTTP status 500']);
  });

  test('that is not there is a warning without its address', async () => {
    await notifier({ webhook: 'http://127.0.0.1:1/secret-path' })(END);
    expect(warnings.length).toBe(1);
    expect(warnings[0]).not.toContain('secret-path');
  });
});

describe('a command', () => {
  test('gets the same JSON on standard input', async () => {
    await using folder = await temporaryFolder();
    const file = join(folder.path, 'notice.json');
    await notifier({ command: ['sh', '-c', `cat > ${file}`] })(END);
    expect(JSON.parse(await readFile(file, 'utf8'))).toEqual(END);
  });

  test.each([
    ['fails', ['false'], 'exit code 1'],
    ['does not exist', ['no-such-program-here'], ''],
  ])('that %s is a warning', async (_, command, why) => {
    await notifier({ command })(END);
    expect(warnings[0]).toContain(`the notify command failed: `);
    expect(warnings[0]).toContain(why);
  });
});

describe('notify in a study file', () => {
  const study = (notify: string) =>
    parseStudy(
      `study: x\ntarget: { command: [sglang, serve] }\nprofile: { 1: 1 }\nparameters: { a: [1] }\nnotify: ${notify}\n`,
      'x.yaml',
    );

  test('is told of both events unless it says of which', () => {
    expect(study('{ command: [mail] }').notify).toEqual({
      on: ['end', 'trouble'],
      command: ['mail'],
    });
  });

  test.each([
    ['{ on: [end] }', 'neither a webhook nor a command'],
    ['{ webhook: slack }', 'expected http:// or https://'],
    ['{ webhook: http://a, webhook_env: B }', 'both say where to post'],
  ])('%s is refused', (notify, message) => {
    expect(() => study(notify)).toThrow(message);
  });
});
