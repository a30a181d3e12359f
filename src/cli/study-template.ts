import { stringify } from 'yaml';

/** What a new study file is made from. */
export interface TemplateInput {
  readonly name: string;
  /** First line for editors; absent where the schema lies nowhere. */
  readonly schemaPath: string | undefined;
  /** Where the server lives, as keys of `target`. */
  readonly target:
    | { readonly ssh?: string; readonly unit: string; readonly user?: true }
    | { readonly unit_file: string }
    | { readonly command: readonly string[] };
  readonly baseUrl: string;
  /** The launch command: production's own values are among those to try. */
  readonly argv: readonly string[];
  readonly profile: string;
  /** A simulated server runs in place of production's program. */
  readonly simulated: boolean;
}

/**
 * A study file for a production command, with a reason beside every range. The space is what pays
 * most often for such a server: speculation where it is on (or its model has a draft head), the
 * fused sum for mixtures of experts, batching and memory otherwise.
 */
export function studyTemplate(input: TemplateInput): string {
  const schema =
    input.schemaPath === undefined
      ? []
      : [`# yaml-language-server: $schema=${input.schemaPath}`, '#'];
  return `${[
    ...schema,
    '# Made by nightsweep init. Check it with: nightsweep plan FILE',
    `study: ${input.name}`,
    ...targetLines(input),
    '',
    '# Share of serving time with so many requests in flight. These are a guess: nightsweep profile',
    '# reads them from your server’s log (nightsweep profile sglang.log --write FILE).',
    `profile: ${input.profile}`,
    '',
    'objective:',
    '  limits:',
    '    - worst_concurrency >= 0.90 # no concurrency may pay for the others with more than 10 %',
    '',
    'workload:',
    '  prompts: code # natural text (also: chat, long-context, or a file of your own prompts)',
    '  input_tokens: 1000',
    '  output_tokens: 500',
    '',
    ...parameterLines(input.argv),
    '# Where the sweep ends at the latest; the same command goes on another night.',
    'budget: { until: "07:00" }',
  ].join('\n')}\n`;
}

function targetLines({ target, baseUrl, simulated }: TemplateInput): readonly string[] {
  const kind = stringify(target, { lineWidth: 96, flowCollectionPadding: false }).trimEnd();
  const program = 'program: [$nightsweep, simulate, --speed, "20"]';
  const lines =
    'command' in target
      ? []
      : simulated
        ? [`  ${program} # a simulated server; delete this line for the real one`]
        : [`  # ${program} # tries this file on a simulated server`];
  return [
    'target:',
    ...kind.split('\n').map((line) => `  ${line}`),
    ...lines,
    `  base_url: ${baseUrl}`,
  ];
}

function parameterLines(argv: readonly string[]): readonly string[] {
  const speculates = flagValue(argv, 'speculative-algorithm') !== undefined;
  const experts = /-A\d+(?:\.\d+)?B|moe|mixtral|deepseek/i.test(
    flagValue(argv, 'model-path') ?? '',
  );
  return [
    'parameters:',
    ...(speculates ? speculationLines(argv) : batchingLines(argv)),
    ...(experts
      ? [
          '  # Sums the experts’ outputs inside the kernel; helps on the Triton path only.',
          '  enable-fused-moe-sum-all-reduce: [false, true]',
        ]
      : []),
    '',
    ...(speculates
      ? [
          'constraints:',
          '  # Without speculation its flags are absent.',
          '  - when: { speculative-algorithm: ~ }',
          '    require: { speculative-num-steps: ~, speculative-eagle-topk: ~, speculative-num-draft-tokens: ~ }',
          '  # A chain checks steps + 1 tokens by itself.',
          '  - when: { speculative-eagle-topk: 1 }',
          '    require: { speculative-num-draft-tokens: ~ }',
          '',
        ]
      : []),
  ];
}

function speculationLines(argv: readonly string[]): readonly string[] {
  const algorithm = flagValue(argv, 'speculative-algorithm') ?? 'NEXTN';
  const running = numbers(argv, 'max-running-requests', [48, 128]);
  return [
    '  # Speculation gains at few requests and costs at many: without it must be among the candidates.',
    `  speculative-algorithm: [${algorithm}, ~]`,
    '  # Tokens drafted before each check; accept rates fall with each further one.',
    `  speculative-num-steps: [${numbers(argv, 'speculative-num-steps', [1, 2, 3]).join(', ')}]`,
    '  # Candidates per step; 1 is a chain.',
    `  speculative-eagle-topk: [${numbers(argv, 'speculative-eagle-topk', [1]).join(', ')}]`,
    '  speculative-num-draft-tokens: [~]',
    '  # With speculation SGLang runs at most 48 requests unless this is given, without it thousands:',
    '  # both are compared at the same limits.',
    `  max-running-requests: [${running.join(', ')}]`,
  ];
}

function batchingLines(argv: readonly string[]): readonly string[] {
  return [
    '  # Share of GPU memory for weights and KV cache; above 0.90 little is left for activations.',
    `  mem-fraction-static: [${numbers(argv, 'mem-fraction-static', [0.8, 0.85, 0.9]).join(', ')}]`,
    '  # Prefill tokens per step: small chunks let decoding go on, large ones end a prompt sooner.',
    `  chunked-prefill-size: [${numbers(argv, 'chunked-prefill-size', [2048, 4096, 8192]).join(', ')}]`,
    '  # lpm serves prompts with a long cached prefix first; fcfs is the default.',
    '  schedule-policy: [fcfs, lpm]',
  ];
}

/** The usual values and production's own, ascending. */
function numbers(argv: readonly string[], name: string, usual: readonly number[]): number[] {
  const own = Number(flagValue(argv, name));
  const all = Number.isFinite(own) && own > 0 ? [...usual, own] : usual;
  return [...new Set(all)].sort((a, b) => a - b);
}

/** The last value of a flag in an argv, both spellings; undefined when it is absent. */
export function flagValue(argv: readonly string[], name: string): string | undefined {
  let found: string | undefined;
  argv.forEach((word, i) => {
    const [flag = '', inline] = word.split(/=(.*)/s);
    if (flag.replaceAll('_', '-') !== `--${name}`) return;
    found = inline ?? argv[i + 1];
  });
  return found;
}

/** The load runs where the server runs: an address that means "every one" is reached by loopback. */
export function baseUrlOf(argv: readonly string[]): string {
  const host = flagValue(argv, 'host') ?? '127.0.0.1';
  const reached = ['0.0.0.0', '::', 'localhost'].includes(host) ? '127.0.0.1' : host;
  const shown = reached.includes(':') ? `[${reached}]` : reached;
  return `http://${shown}:${flagValue(argv, 'port') ?? '30000'}`;
}
