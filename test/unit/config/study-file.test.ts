import { describe, expect, test } from 'vitest';
import { parseStudy } from '../../../src/config/load-study.ts';
import { UserError } from '../../../src/errors.ts';
import { countSpace } from '../../../src/search-space/count.ts';
import { sweepSalt } from '../../../src/study/measurer.ts';

const SELF = ['/node', '/nightsweep.js'];
const MINIMAL = `study: s
target: {command: [server]}
profile: {1: 1}
parameters:
  page-size: [1, 64]
`;

const parse = (text: string) => parseStudy(text, 'dir/s.yaml', SELF);

/** The message and hint a study file is refused with. */
function refusal(text: string): string {
  try {
    parse(text);
  } catch (error) {
    if (error instanceof UserError) return `${error.message} | ${error.hint ?? ''}`;
    throw error;
  }
  throw new Error('the study file was accepted');
}

/** MINIMAL with one top-level section replaced or added. */
function withSection(section: string): string {
  const name = section.slice(0, section.indexOf(':') + 1);
  const kept = MINIMAL.split(/^(?=\w)/m).filter((part) => !part.startsWith(name));
  return `${kept.join('')}${section}\n`;
}

describe('a valid study', () => {
  test.each([
    [
      '`sglang serve` with numbers in quotes (U14)',
      '[sglang, serve, --mem-fraction-static, "0.7"]',
      ['sglang', 'serve', '--mem-fraction-static', '0.7'],
    ],
    [
      'names and values as separate items, as Kubernetes has them (U16)',
      '[python3, -m, sglang.launch_server, --port, 30000]',
      ['python3', '-m', 'sglang.launch_server', '--port', '30000'],
    ],
  ])('takes a command with %s', (_, command, words) => {
    expect(parse(withSection(`target: {command: ${command}}`)).target.command).toEqual(words);
  });

  test('gets defaults for all that it leaves out', () => {
    expect(parse(MINIMAL)).toMatchObject({
      name: 's',
      target: { command: ['server'], baseUrl: 'http://127.0.0.1:30000', environment: {} },
      objective: { score: 'relative', limits: [] },
      workload: { prompts: 'code', inputTokens: 1000, outputTokens: 1000, ignoreEos: true },
      measure: { repeats: 1, finalists: 3, launches: 13, warmUp: {}, requestTimeoutSeconds: 600 },
      start: { stallSeconds: 300, totalSeconds: 1800, stopSeconds: 60, gpuReleaseSeconds: 120 },
      constraints: [],
      baseline: {},
      budget: {},
      warnings: [],
    });
  });

  test('leaves the number of requests to the concurrency', () => {
    expect(parse(MINIMAL).workload).not.toHaveProperty('requests');
  });

  test('normalises names, keeps values as written and knows where each parameter stands', () => {
    const study = parse(
      withSection(
        'parameters:\n  --max_running_requests: [~, 48]\n  fraction: [0.85, "0.9"]\n  cuda-graph-bs: [[1, 2], ~]\n  env.NCCL_ALGO: [Ring]\n  fused: [false, true]',
      ),
    );
    expect([...study.parameters]).toEqual([
      ['max-running-requests', [null, 48]],
      ['fraction', [0.85, '0.9']],
      ['cuda-graph-bs', [[1, 2], null]],
      ['env.NCCL_ALGO', ['Ring']],
      ['fused', [false, true]],
    ]);
    expect(study.parameterPositions.get('max-running-requests')).toEqual({ line: 5, column: 3 });
  });

  test('reads constraints with the line they stand at', () => {
    const { constraints } = parse(
      `${MINIMAL}constraints:\n  - when: {page_size: 64}\n    forbid: {--page-size: "> 1"}\n`,
    );
    expect(constraints).toEqual([
      {
        text: 'when page-size = 64 forbid page-size > 1',
        line: 7,
        when: { 'page-size': { kind: 'equals', value: 64 } },
        forbid: { 'page-size': { kind: 'compare', operator: '>', operand: { value: 1 } } },
      },
    ]);
  });

  test('reads limits, recorded numbers, durations and the budget', () => {
    const study = parse(`${MINIMAL}
objective: {score: time, limits: [p99_ttft_ms <= 4000, worst_concurrency >= 90%]}
baseline:
  expect:
    workload: {prompts: fixed-token, ignore_eos: false}
    values: {4: 399.1, 1: 121.6}
    tolerance: 3%
start: {stall: 5m, total: 1h 30m, stop: 90}
budget: {until: 07:00, hours: 8.5, launches: 40}
`);
    expect(study.objective.limits).toEqual([
      { text: 'p99_ttft_ms <= 4000', metric: 'p99_ttft_ms', operator: '<=', value: 4000 },
      { text: 'worst_concurrency >= 90%', metric: 'worst_concurrency', operator: '>=', value: 0.9 },
    ]);
    expect(study.baseline.expect).toMatchObject({
      workload: { prompts: 'fixed-token', ignoreEos: false, inputTokens: 1000 },
      throughput: 'whole-run',
      toleranceFraction: 0.03,
    });
    expect([...(study.baseline.expect?.values ?? [])]).toEqual([
      [1, 121.6],
      [4, 399.1],
    ]);
    expect(study.start).toEqual({
      stallSeconds: 300,
      totalSeconds: 5400,
      stopSeconds: 90,
      gpuReleaseSeconds: 120,
    });
    expect(study.budget).toEqual({ until: '07:00', hours: 8.5, launches: 40 });
  });

  test('expands $nightsweep to this program, and nothing else', () => {
    const { target } = parse(
      withSection('target: {unit_file: a.service, program: [$nightsweep, simulate, --speed, 25]}'),
    );
    expect(target.program).toEqual([...SELF, 'simulate', '--speed', '25']);
  });

  test('takes paths relative to the study file', () => {
    const { target } = parse(withSection('target: {unit_file: ../a.service}'));
    expect(target.unitFile).toBe(`${process.cwd()}/a.service`);
  });

  test('may leave an optional section with all its lines commented out', () => {
    expect(parse(`${MINIMAL}constraints:\n#  - require: {}\n`).constraints).toEqual([]);
  });

  test('reads a word that YAML 1.1 took for a boolean as text, with a warning', () => {
    const study = parse(withSection('parameters: {x: [on, "off"]}'));
    expect([...study.parameters]).toEqual([['x', ['on', 'off']]]);
    expect(study.warnings).toEqual([
      {
        position: { line: 4, column: 18 },
        where: 'parameters.x[0]',
        message: 'on is the text "on" here, not true or false',
        hint: 'write true, false, or "on" in quotes',
      },
    ]);
  });

  test('switches the flags of speculation off where the study has no speculation', () => {
    const study = parse(
      withSection(`parameters:
  speculative-algorithm: [NEXTN, ~]
  speculative-num-steps: [1, 2, 3]
constraints:
  - when: {speculative-algorithm: ~}
    require: {speculative-num-steps: ~}`),
    );
    expect(countSpace(study)).toMatchObject({ total: 7, implied: 1, feasible: 4 });
  });
});

describe('a study file is refused with line and column', () => {
  test.each<{ what: string; text: string; says: string }>([
    { what: 'that is empty', text: '# nothing\n', says: 'dir/s.yaml:1:1: is empty' },
    { what: 'that holds a list', text: '- a\n', says: '1:1: holds no map' },
    { what: 'with broken YAML', text: 'study: [\n', says: '2:1: not valid YAML: Flow sequence' },
    {
      what: 'with a key twice',
      text: 'study: a\nstudy: b\n',
      says: '2:1: the key study stands here for the second time',
    },
    {
      what: 'with a concurrency twice, once in quotes',
      text: withSection('profile: {1: 0.5, "1": 0.5}'),
      says: '5:19: the key "1" stands here for the second time',
    },
    {
      what: 'with two documents',
      text: `${MINIMAL}---\nstudy: t\n`,
      says: '6:1: a second document (---) starts here',
    },
    {
      what: 'nested without end',
      text: `study: ${'['.repeat(20_000)}`,
      says: 'not valid YAML: nested too deeply',
    },
    {
      what: 'with an alias of nothing',
      text: 'study: *x\n',
      says: '1:8: nothing above is named &x',
    },
    {
      what: 'with an unknown tag',
      text: 'study: !money 5\n',
      says: '1:8: not valid YAML: Unresolved tag',
    },
    {
      what: 'without parameters',
      text: 'study: s\ntarget: {command: [x]}\nprofile: {1: 1}\n',
      says: '1:1: parameters: is missing',
    },
    {
      what: 'with an unknown key',
      text: `${MINIMAL}workloads: {}\n`,
      says: '6:1: workloads: unknown key | did you mean "workload"?',
    },
    {
      what: 'with an unknown key below',
      text: `${MINIMAL}workload: {outptu_tokens: 5}\n`,
      says: '6:12: workload.outptu_tokens: unknown key | did you mean "output_tokens"?',
    },
    {
      what: 'with rules',
      text: `${MINIMAL}rules: []\n`,
      says: '6:1: rules: rules of your own are not available yet',
    },
    {
      what: 'with its own script',
      text: `${MINIMAL}measure: {script: x}\n`,
      says: '6:11: measure.script: measuring with your own script is not available yet',
    },
    {
      what: 'with a wrong choice',
      text: `${MINIMAL}objective: {score: relativ}\n`,
      says: '6:20: objective.score: expected one of relative, time, tokens, got "relativ" | did you mean "relative"?',
    },
    {
      what: 'with a wrong type',
      text: `${MINIMAL}workload: {ignore_eos: yes}\n`,
      says: '6:24: workload.ignore_eos: expected true or false, got "yes" | YAML 1.2',
    },
    {
      what: 'with a fraction of tokens',
      text: `${MINIMAL}workload: {input_tokens: 1.5}\n`,
      says: '6:26: workload.input_tokens: expected a whole number of at least 1, got 1.5',
    },
    {
      what: 'with prompts of no kind',
      text: `${MINIMAL}workload: {prompts: cod}\n`,
      says: '6:21: workload.prompts: "cod" is neither a kind of prompts nor a file | did you mean "code"?',
    },
    {
      what: 'with a profile of 0.8',
      text: withSection('profile: {1: 0.8}'),
      says: '5:1: profile: the shares sum to 0.8, not 1',
    },
    {
      what: 'with half a request',
      text: withSection('profile: {1.5: 1}'),
      says: '5:11: profile.1.5: the number of requests in flight must be a positive whole number',
    },
    {
      what: 'with no request',
      text: withSection('profile: {0: 1}'),
      says: '5:11: profile.0: the number of requests',
    },
    {
      what: 'with a text as share',
      text: withSection('profile: {1: all}'),
      says: '5:14: profile.1: expected a number, got "all"',
    },
    {
      what: 'without a target kind',
      text: withSection('target: {base_url: "http://a"}'),
      says: '5:1: target: expected exactly one of unit, unit_file, command: none is given',
    },
    {
      what: 'with two target kinds',
      text: withSection('target: {unit: a, unit_file: b}'),
      says: 'unit and unit_file are given',
    },
    {
      what: 'with a path as unit',
      text: withSection('target: {unit: /etc/a.service}'),
      says: '5:16: target.unit: expected the name of a unit, got the path',
    },
    {
      what: 'with an address that is none',
      text: withSection('target: {unit: a, base_url: localhost}'),
      says: '5:29: target.base_url: "localhost" is not an address',
    },
    {
      what: 'with a program for a command',
      text: withSection('target: {command: [a], program: [b]}'),
      says: '5:24: target.program: goes with unit or unit_file only',
    },
    {
      what: 'with a command in one text (U12)',
      text: withSection('target: {command: python3 -m x}'),
      says: 'expected a list, got "python3 -m x" | write a list of words',
    },
    {
      what: 'with a variable to expand',
      text: withSection('target: {unit: a, program: [$nightsweeps]}'),
      says: 'variables are not expanded here | did you mean "$nightsweep"?',
    },
    {
      what: 'with a compose file’s default (U13)',
      text: withSection("target: {command: [sglang, serve, --steps, '${STEPS:-3}']}"),
      says: 'variables are not expanded here | write the value itself: 3 unless STEPS is set',
    },
    {
      what: 'with a variable that must be set (U15)',
      text: withSection("target: {command: [sglang, serve, --model-path, '${M:?no model}']}"),
      says: '"${M:?no model}": variables are not expanded here | write the value itself',
    },
    {
      what: 'with a bare value',
      text: withSection('parameters: {a: 4}'),
      says: '4:17: parameters.a: expected a list, got 4 | write the values as a list: [4]',
    },
    {
      what: 'with no value',
      text: withSection('parameters: {a: []}'),
      says: '4:17: parameters.a: needs at least one value',
    },
    {
      what: 'with a map as value',
      text: withSection('parameters: {a: [1, {b: 1}]}'),
      says: '4:21: parameters.a[1]: expected text, a number',
    },
    {
      what: 'with a value twice',
      text: withSection('parameters: {a: [0.85, "0.85"]}'),
      says: '4:24: parameters.a[1]: "0.85" starts the same server as 0.85',
    },
    {
      what: 'with absence twice',
      text: withSection('parameters: {a: [false, ~]}'),
      says: 'parameters.a[1]: nothing (~) starts the same server as false',
    },
    {
      what: 'with a number that is none',
      text: withSection('parameters: {a: [.inf]}'),
      says: '4:18: parameters.a[0]: expected text, a number, true, false, ~ (flag absent), or a list',
    },
    {
      what: 'with a boolean variable',
      text: withSection('parameters: {env.A: [true]}'),
      says: '4:22: parameters.env.A[0]: an environment variable holds text, got true | write "true" or "1"',
    },
    {
      what: 'with one flag in two spellings',
      text: withSection('parameters: {a-b: [1], --a_b: [2]}'),
      says: '4:24: parameters.--a_b: is the same parameter as "a-b" above',
    },
    {
      what: 'with a name that is none',
      text: withSection('parameters: {"a b": [1]}'),
      says: '4:14: parameters.a b: "a b" is not the name of a flag',
    },
    {
      what: 'with an unknown name in a constraint',
      text: `${MINIMAL}constraints:\n  - when: {page_sice: 64}\n    require: {page-size: 1}\n`,
      says: '7:12: constraints[0].when.page_sice: no parameter of this study is called "page_sice" | did you mean "page-size"?',
    },
    {
      what: 'with a value that is never tried',
      text: `${MINIMAL}constraints:\n  - forbid: {page-size: 32}\n`,
      says: '7:25: constraints[0].forbid.page-size: page-size is never 32 in this study | it is tried as 1, 64',
    },
    {
      what: 'with absence that is never tried',
      text: `${MINIMAL}constraints:\n  - forbid: {page-size: ~}\n`,
      says: 'page-size is never ~ in this study',
    },
    {
      what: 'with a constraint that asks for nothing',
      text: `${MINIMAL}constraints:\n  - when: {page-size: 1}\n`,
      says: '7:5: constraints[0]: needs require or forbid',
    },
    {
      what: 'with a comparison with no parameter',
      text: `${MINIMAL}constraints:\n  - require: {page-size: "<= pagesize"}\n`,
      says: '"<= pagesize": pagesize is neither a number nor a parameter of this study | did you mean "page-size"?',
    },
    {
      what: 'with a limit that is none',
      text: `${MINIMAL}objective: {limits: [fast]}\n`,
      says: '6:22: objective.limits[0]: "fast" is not "metric <= value"',
    },
    {
      what: 'with an unknown metric',
      text: `${MINIMAL}objective: {limits: [p99_tft_ms <= 4]}\n`,
      says: 'unknown metric p99_tft_ms | did you mean "p99_ttft_ms"?',
    },
    {
      what: 'with a limit the wrong way round',
      text: `${MINIMAL}objective: {limits: [p99_ttft_ms >= 4]}\n`,
      says: 'p99_ttft_ms is better when it is lower: write <=, not >=',
    },
    {
      what: 'with a limit without number',
      text: `${MINIMAL}objective: {limits: [p99_ttft_ms <= 4s]}\n`,
      says: 'expected a number after <=, got "4s"',
    },
    {
      what: 'with a time that is none',
      text: `${MINIMAL}budget: {until: "25:00"}\n`,
      says: '6:17: budget.until: expected a time of day, got "25:00"',
    },
    {
      what: 'with no hours',
      text: `${MINIMAL}budget: {hours: 0}\n`,
      says: '6:17: budget.hours: expected hours above zero, got 0',
    },
    {
      what: 'with a duration that is none',
      text: `${MINIMAL}start: {total: soon}\n`,
      says: '6:16: start.total: expected a duration above zero, got "soon" | write 90s',
    },
    {
      what: 'with a tolerance of 300 %',
      text: `${MINIMAL}baseline: {expect: {values: {1: 5}, tolerance: 3}}\n`,
      says: '6:48: baseline.expect.tolerance: expected a percentage above 0 and below 100, got 3 | write it as 3%',
    },
    {
      what: 'with a name for no folder',
      text: withSection('study: ../x'),
      says: 'study: expected letters, digits',
    },
  ])('$what', ({ text, says }) => {
    expect(refusal(text)).toContain(says);
  });

  test('with all its mistakes at once, in file order', () => {
    const text = 'study: s\ntarget: {unti: a}\nprofile: {1: 2}\nparameters: {a: []}\nbudgett: {}\n';
    expect(refusal(text)).toBe(
      [
        'dir/s.yaml has 4 mistakes:',
        '  dir/s.yaml:2:10: target.unti: unknown key (did you mean "unit"?)',
        '  dir/s.yaml:3:1: profile: the shares sum to 2, not 1 (scaled to 1 they would be {1: 1})',
        '  dir/s.yaml:4:17: parameters.a: needs at least one value',
        '  dir/s.yaml:5:1: budgett: unknown key (did you mean "budget"?) | ',
      ].join('\n'),
    );
  });

  test('when its aliases multiply', () => {
    const levels = Array.from({ length: 9 }, (_, i) => {
      const inner = i === 0 ? 'x' : `*l${String(i - 1)}`;
      return `l${String(i)}: &l${String(i)} [${Array.from({ length: 9 }, () => inner).join(', ')}]`;
    });
    expect(refusal(levels.join('\n'))).toContain('its aliases (*name) expand without bound');
  });
});

describe('a key written in clear is refused and not repeated', () => {
  test.each([
    withSection('target: {unit: a, api_key: sk-123}'),
    withSection('target: {unit: a, api_key_env: sk-123}'),
    withSection('target: {command: [server, --api-key=sk-123]}'),
    withSection('target: {command: [server, --api-key, sk-123]}'),
    withSection('target: {command: [server], environment: {HF_TOKEN: sk-123}}'),
    withSection('target: {unit: a, base_url: "http://me:sk-123@host"}'),
    withSection('parameters: {api-key: [sk-123]}'),
    withSection('parameters: {env.OPENAI_API_KEY: [sk-123]}'),
  ])('%s', (text) => {
    expect(refusal(text)).not.toContain('sk-123');
  });
});

describe('the shape of the load', () => {
  const workload = (text: string) => parse(withSection(`workload: {${text}}`)).workload;
  const refused = (text: string) => refusal(withSection(`workload: {${text}}`));

  test('is an open loop whose rate is that of each user', () => {
    expect(
      workload('arrivals: {rate: 0.2, process: gamma, burstiness: 0.5}').arrivals,
    ).toStrictEqual({
      kind: 'open',
      requestsPerSecondPerUser: 0.2,
      process: 'gamma',
      burstiness: 0.5,
    });
  });

  test('is a closed loop without think time unless one is given', () => {
    expect(workload('think_time: 3s').arrivals).toStrictEqual({
      kind: 'closed',
      thinkTimeMs: 3000,
    });
    expect(workload('think_time: 0')).not.toHaveProperty('arrivals');
    expect(workload('')).not.toHaveProperty('arrivals');
  });

  test('has sessions, shared prefixes and ids where the prompts have them', () => {
    expect(
      workload('prompts: agentic, session: {turns: 3, pause: 1s, turn_tokens: 1k}').session,
    ).toStrictEqual({ turns: 3, pauseSeconds: 1, turnTokens: 1000 });
    expect(workload('shared_prefix: 50%').sharedPrefixFraction).toBe(0.5);
    expect(workload('prompts: random-ids, id_range: [0, 511]').idRange).toStrictEqual({
      from: 0,
      below: 512,
    });
  });

  test('has new prompts in every sweep unless the salt of an earlier one is given', () => {
    const stored = { createdAtMs: 1_796_062_394_000 };
    expect(sweepSalt(parse(MINIMAL), stored)).toBe('1796062394000');
    const again = parse(withSection('workload: {salt: 1795000000000}'));
    expect(sweepSalt(again, stored)).toBe('1795000000000');
  });

  test('a recorded baseline takes over only what its own prompts have', () => {
    const study = parse(
      `${withSection('workload: {shared_prefix: 50%, think_time: 1s}')}baseline: {expect: {workload: {prompts: fixed-token}, values: {1: 100}}}\n`,
    );
    const { workload: expected } = study.baseline.expect ?? {};
    expect(expected).not.toHaveProperty('sharedPrefixFraction');
    expect(expected?.arrivals).toStrictEqual({ kind: 'closed', thinkTimeMs: 1000 });
  });

  test.each([
    ['arrivals: {rate: 0}', 'expected a number above zero, got 0'],
    ['arrivals: {rate: 1, burstiness: 0.5}', 'burstiness: has no effect on poisson arrivals'],
    ['arrivals: {rate: 1, process: gama}', 'gamma'],
    ['arrivals: {rate: 1}, think_time: 1s', 'belongs to a closed loop'],
    ['prompts: agentic, arrivals: {rate: 1}', 'after an answer'],
    ['prompts: fixed-token, shared_prefix: 0.5', 'has no effect on prompts: fixed-token'],
    ['session: {turns: 2}', 'it belongs to prompts: agentic'],
    ['prompts: random-ids, id_range: [9, 3]', 'such as [0, 511]'],
    ['shared_prefix: 150%', 'expected a share from 0% to 100%'],
  ])('%s is refused', (text, message) => {
    expect(refused(text)).toContain(message);
  });
});

describe('how measurements end', () => {
  test('has defaults, and each can be set', () => {
    expect(parse(MINIMAL).measure).toMatchObject({
      maxFailureFraction: 0.5,
      giveUpBelowFraction: 0.3,
      dropLosers: true,
      outputCheck: {},
    });
    const text =
      'measure: {max_failures: 10%, give_up_below: 0%, drop_losers: false, warm_up: {requests: 4, limit: 3m}, output_check: {misses: 0, similarity: 30%}}';
    expect(parse(withSection(text)).measure).toMatchObject({
      maxFailureFraction: 0.1,
      giveUpBelowFraction: 0,
      dropLosers: false,
      warmUp: { requests: 4, limitSeconds: 180 },
      outputCheck: { missesAllowed: 0, minSimilarity: 0.3 },
    });
  });

  test('service-level objectives are read in ms and goodput can be a limit', () => {
    const { objective } = parse(
      withSection('objective: {slo: {ttft: 2s, tpot: 50ms}, limits: ["goodput_fraction >= 95%"]}'),
    );
    expect(objective.slos).toStrictEqual({ ttftMs: 2000, tpotMs: 50 });
    expect(objective.limits[0]).toMatchObject({ metric: 'goodput_fraction', value: 0.95 });
  });

  test('goodput without an objective to keep is refused', () => {
    expect(refusal(withSection('objective: {limits: ["goodput_fraction >= 95%"]}'))).toContain(
      'slo',
    );
  });
});
