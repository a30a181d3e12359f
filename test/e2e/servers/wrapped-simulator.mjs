// A simulated server behind something that misbehaves:
//   node wrapped-simulator.mjs MODE [--when FLAG=VALUE] -- COMMAND FLAGS...
//     log=FILE      prints the file and exits 1, never a server
//     refuse=N      accepts no connection any more after N completions
//     shorten=F     asks the server for F of the wanted tokens in every second completion
// With --when, only launches whose flags have this value misbehave. --help is always the server's.
import { spawn } from 'node:child_process';
import { readFileSync } from 'node:fs';
import { createServer, request } from 'node:http';

const own = process.argv.slice(2, process.argv.indexOf('--'));
const command = process.argv.slice(process.argv.indexOf('--') + 1);
const [mode, setting] = own[0].split('=');
const [flag, value] = own[1] === '--when' ? own[2].split('=') : [];

const flagValue = (name) => command[command.lastIndexOf(`--${name}`) + 1];
const misbehaves = flag === undefined || flagValue(flag) === value;

if (command.includes('--help') || !misbehaves) pass(command);
else if (mode === 'log') {
  process.stderr.write(readFileSync(setting, 'utf8'));
  process.exitCode = 1;
} else proxy(Number(flagValue('port')));

function pass(words) {
  const child = spawn(words[0], words.slice(1), { stdio: 'inherit' });
  process.on('SIGTERM', () => child.kill('SIGTERM'));
  child.once('exit', (code) => process.exit(code ?? 1));
}

function proxy(port) {
  const innerPort = port + 10_000 > 65_535 ? port - 10_000 : port + 10_000;
  const words = [...command];
  words[words.lastIndexOf('--port') + 1] = String(innerPort);
  pass(words);
  let completions = 0;
  const server = createServer((incoming, outgoing) => {
    const isCompletion = incoming.url?.startsWith('/generate') === true;
    if (isCompletion) completions += 1;
    if (mode === 'refuse' && completions > Number(setting)) {
      server.close();
      server.closeAllConnections();
      return;
    }
    const shorten = mode === 'shorten' && isCompletion && completions % 2 === 0;
    const chunks = [];
    incoming.on('data', (chunk) => chunks.push(chunk));
    incoming.on('end', () => forward(incoming, outgoing, Buffer.concat(chunks), shorten));
  });
  server.listen(port, '127.0.0.1');

  function forward(incoming, outgoing, body, shorten) {
    let sent = body;
    if (shorten) {
      const json = JSON.parse(body.toString('utf8'));
      const parameters = json.sampling_params;
      parameters.max_new_tokens = Math.ceil(parameters.max_new_tokens * Number(setting));
      sent = Buffer.from(JSON.stringify(json));
    }
    const { method, url: path } = incoming;
    const headers = { ...incoming.headers, 'content-length': String(sent.length) };
    delete headers['transfer-encoding'];
    const inner = request({ port: innerPort, method, path, headers }, (answer) => {
      outgoing.writeHead(answer.statusCode ?? 502, answer.headers);
      answer.pipe(outgoing);
    });
    inner.on('error', () => outgoing.destroy());
    outgoing.on('close', () => inner.destroy());
    inner.end(sent);
  }
}
