import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import {
  redactArgv,
  redactEnvironment,
  redactJson,
  redactText,
  secretValues,
} from '../../../src/sglang/redact.ts';
import { isSecretFlag, isSecretName } from '../../../src/sglang/secret-names.ts';

const SECRET = 'S3cr3t-Value_42';

describe('names', () => {
  test.each([
    'api_key',
    'admin_api_key',
    'HF_TOKEN',
    'HUGGING_FACE_HUB_TOKEN',
    'AWS_SECRET_ACCESS_KEY',
    'ssl-keyfile-password',
    'watermark_key_b',
    'Authorization',
    'apiKey',
    'PGPASSWORD',
    'wandb.token',
  ])('%s is secret', (name) => {
    expect(isSecretName(name)).toBe(true);
  });

  test.each([
    'speculative-num-draft-tokens',
    'max-total-tokens',
    'tokenizer_path',
    'speculative-token-map',
    'num_key_value_heads',
    'eos_token',
    'token_usage',
    'PWD',
    'ssl-keyfile',
    'timeout_keep_alive',
    'bucket_time_to_first_token',
  ])('%s is not secret', (name) => {
    expect(isSecretName(name)).toBe(false);
  });

  test('of all flags in the help of 0.5.23 only the secret ones are taken for secret', () => {
    const path = '../../fixtures/resolution/flags-0.5.23.json';
    const flags = JSON.parse(readFileSync(new URL(path, import.meta.url), 'utf8')) as string[];
    const secret = flags.filter(isSecretFlag).sort();
    expect(secret).toEqual([
      '--admin-api-key',
      '--api-key',
      '--ssl-keyfile-password',
      '--watermark-config',
    ]);
  });
});

describe('text', () => {
  test.each([
    `server_args=ServerArgs(model_path='/m', api_key='${SECRET}', port=30000)`,
    `server_args={'model_path': '/m', 'api_key': '${SECRET}', 'port': 1}`,
    `{"api_key":"${SECRET}","port":1}`,
    `{"log": "{\\"api_key\\": \\"${SECRET}\\"}"}`,
    `python3 -m sglang.launch_server --api-key ${SECRET} --port 1`,
    `python3 -m sglang.launch_server --api-key=${SECRET} --port 1`,
    `python3 -m sglang.launch_server --api-k "${SECRET}" --port 1`,
    `['--api-key', '${SECRET}', '--port', '1']`,
    `HF_TOKEN=${SECRET} python3`,
    `export HF_TOKEN="${SECRET}"`,
    `authorization: Bearer ${SECRET}`,
    `-H 'Authorization: Bearer ${SECRET}'`,
    `proxy http://user:${SECRET}@proxy:3128/`,
    `GET /v1?api_key=${SECRET}&x=1`,
  ])('a secret after its name is hidden: %s', (text) => {
    const redacted = redactText(text);
    expect(redacted).not.toContain(SECRET);
    expect(redacted).toContain('***');
  });

  test('what is not secret stays byte for byte', () => {
    const line =
      "server_args={'api_key': None, 'max_total_tokens': 16384, 'eos_token': '<|im_end|>', 'x': 'a=b'} --speculative-num-draft-tokens 4 #token: 14, token usage: 0.00";
    expect(redactText(line)).toBe(line);
  });

  test('a log of a real start is unchanged apart from keys', () => {
    const log = new URL('../../fixtures/logs/launch-success-0.5.23.log', import.meta.url);
    const text = readFileSync(log, 'utf8').replaceAll("'<redacted>'", "'***'");
    const changed = text.split('\n').filter((line) => redactText(line) !== line);
    expect(changed).toEqual([]);
  });

  test('a known secret is hidden wherever it stands, also escaped', () => {
    const secret = 'a"b/c d';
    const text = `x ${secret} y ${JSON.stringify(secret)} z ${encodeURIComponent(secret)}`;
    expect(redactText(text, [secret])).toBe('x *** y "***" z ***');
  });

  test('a short secret is replaced as a word only', () => {
    expect(redactText('key abc, abcdef xabc', ['abc'])).toBe('key ***, abcdef xabc');
  });

  test('any secret after any of the spellings never survives', () => {
    const secret = fc.stringMatching(/^[A-Za-z0-9][A-Za-z0-9_+./-]{5,30}$/);
    const frame = fc.constantFrom(
      (s: string) => `--api-key ${s}`,
      (s: string) => `api_key='${s}'`,
      (s: string) => JSON.stringify({ hf_token: s }),
      (s: string) => `OPENAI_API_KEY=${s}`,
    );
    fc.assert(
      fc.property(secret, frame, (s, write) => {
        const unset = ['none', 'null', 'undefined', 'true', 'false'].includes(s.toLowerCase());
        fc.pre(!unset && !write('').includes(s));
        expect(redactText(write(s))).not.toContain(s);
      }),
    );
  });
});

describe('argv, environment and JSON', () => {
  test('argv keeps its length and loses the secrets', () => {
    const argv = ['python3', '--api-key', SECRET, '--admin-api-key=' + SECRET, '--port', '1'];
    const withJson = [...argv, '--extra', JSON.stringify({ token: SECRET }), '--ssl-keyfile', '/k'];
    const redacted = redactArgv(withJson);
    expect(redacted.join(' ')).not.toContain(SECRET);
    expect(redacted).toHaveLength(withJson.length);
    expect(redacted.slice(-2)).toEqual(['--ssl-keyfile', '/k']);
  });

  test('environment keeps its names and loses the secrets, also inside another variable', () => {
    const env = { HF_TOKEN: SECRET, ARGS: `--x ${SECRET}`, PATH: '/bin', NCCL_ALGO: 'Ring' };
    expect(redactEnvironment(env)).toEqual({
      HF_TOKEN: '***',
      ARGS: '--x ***',
      PATH: '/bin',
      NCCL_ALGO: 'Ring',
    });
  });

  test('server info loses the secrets at any depth and keeps everything else', () => {
    const info = {
      api_key: SECRET,
      admin_api_key: null,
      max_total_tokens: 16384,
      launch_command: `--model-path /m --api-key ${SECRET}`,
      internal_states: [{ api_key: SECRET, argv: ['--api-key', SECRET] }],
    };
    expect(redactJson(info)).toEqual({
      api_key: '***',
      admin_api_key: null,
      max_total_tokens: 16384,
      launch_command: '--model-path /m --api-key ***',
      internal_states: [{ api_key: '***', argv: ['--api-key', '***'] }],
    });
  });

  test('the secret values of argv and environment are collected once each', () => {
    const argv = ['--api-key', SECRET, '--admin-api-key=b=c', '--port', '1'];
    expect(secretValues(argv, { HF_TOKEN: SECRET, WANDB_API_KEY: '' })).toEqual([SECRET, 'b=c']);
  });
});

test.each([
  ['Environment=HF_TOKEN=hf_abcdefgh', 'hf_abcdefgh'],
  ['Environment="OTHER=1" "API_KEY=sk-planted-1"', 'sk-planted-1'],
  ["Environment='MY_PASSWORD=top secret'", 'top secret'],
])('a secret set by a line of a unit is hidden: %s', (line, secret) => {
  expect(redactText(line)).not.toContain(secret);
  expect(redactText(line)).toMatch(/^Environment=/);
});

describe('a long line of one kind costs no more than its length', () => {
  // With a cost that grows with the square these take seconds to minutes, or overflow the stack.
  test.each(['x', 'ab.', '-a', 'a=', 'a = ', 'key:', 'http://', '#a-', '--a '])(
    '%s',
    (piece) => {
      const text = piece.repeat(Math.ceil(400_000 / piece.length));
      const startedMs = process.cpuUsage().user / 1000;
      redactText(text, [SECRET]);
      expect(process.cpuUsage().user / 1000 - startedMs).toBeLessThan(5000);
    },
    60_000,
  );
});
