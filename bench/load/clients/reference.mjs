/*
 * The least a client can do, to compare CPU with: sends RUNS requests in PLACES places and reads the
 * streams. `undici` is a bare dispatch with a hand scan for events that parses the last event of
 * each answer; `socket` splits nothing and parses nothing.
 *
 *   node reference.mjs undici|socket PORT PLACES RUNS TOKENS
 */
import { createRequire } from 'node:module';
import net from 'node:net';

const [kind, port, places, runs, tokens] = process.argv.slice(2);
const body = JSON.stringify({
  text: 'Hello',
  sampling_params: { temperature: 0, max_new_tokens: Number(tokens), ignore_eos: true },
  stream: true,
});
let left = Number(runs);
let events = 0;

function viaSocket() {
  const socket = net.connect(Number(port), '127.0.0.1');
  const request = `POST /generate HTTP/1.1\r\nhost: x\r\ncontent-type: application/json\r\ncontent-length: ${body.length}\r\n\r\n${body}`;
  return new Promise((resolve) => {
    const send = () => {
      if (left <= 0) {
        socket.destroy();
        resolve();
        return;
      }
      left -= 1;
      socket.write(request);
    };
    socket.on('connect', send);
    socket.on('data', (chunk) => {
      events += 1;
      if (chunk.length >= 5 && chunk.toString('latin1', chunk.length - 5) === '0\r\n\r\n') send();
    });
  });
}

async function viaUndici() {
  const { Client } = createRequire(import.meta.url)('undici');
  const client = new Client(`http://127.0.0.1:${port}`, { pipelining: 1 });
  const headers = { 'content-type': 'application/json' };
  while (left > 0) {
    left -= 1;
    await new Promise((resolve, reject) => {
      const at = [];
      let rest;
      let last;
      client.dispatch(
        { path: '/generate', method: 'POST', headers, body },
        {
          onRequestStart() {},
          onResponseStart() {},
          onResponseData(_controller, chunk) {
            const now = performance.now();
            const data = rest === undefined ? chunk : Buffer.concat([rest, chunk]);
            let from = 0;
            for (let end = data.indexOf('\n\n'); end !== -1; end = data.indexOf('\n\n', from)) {
              events += 1;
              at.push(now);
              if (data[from + 6] === 123) last = data.subarray(from + 6, end);
              from = end + 2;
            }
            rest = from < data.length ? data.subarray(from) : undefined;
          },
          onResponseEnd() {
            JSON.parse(last.toString());
            resolve();
          },
          onResponseError(_controller, error) {
            reject(error);
          },
        },
      );
    });
  }
  await client.close();
}

const place = kind === 'socket' ? viaSocket : viaUndici;
await Promise.all(Array.from({ length: Number(places) }, place));
process.stdout.write(`${events}\n`);
