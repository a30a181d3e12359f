import { z } from 'zod';
import { type ArrivalProcess, arrivalProcesses } from '../load/arrivals.ts';
import { promptSources } from '../load/prompts/create-prompt-source.ts';

/** Bundled prompt kinds; everything else in `workload.prompts` is the path of a file. */
export const PROMPT_KINDS = Object.keys(promptSources) as readonly (keyof typeof promptSources)[];

const PROCESSES = Object.keys(arrivalProcesses) as readonly ArrivalProcess[];

/** When a sweep tells somebody: at its end, and when it needs a person. */
export const NOTIFY_EVENTS = ['end', 'trouble'] as const;

/** Where the load of a server behind ssh comes from. */
export const LOAD_FROM = ['auto', 'server', 'here'] as const;

export const SCORE_KINDS = ['relative', 'time', 'tokens'] as const;

const duration = z
  .union([z.number(), z.string()], { error: 'a duration such as 90s, 5m or 1800 (seconds)' })
  .describe('90s, 5m, 1h 30m, or a number of seconds');
const count = z.union([z.number(), z.string()], { error: 'a whole number such as 1000 or 8k' });
const fraction = z.union([z.number(), z.string()], { error: 'a percentage such as 50%' });
const word = z.union([z.string(), z.number()], { error: 'text or a number' });

/** `~` is an absent flag. */
const scalar = z.union([z.string(), z.number(), z.boolean(), z.null()]);
const value = z.union([z.string(), z.number(), z.boolean(), z.null(), z.array(word)], {
  error: 'text, a number, true, false, ~ (flag absent), or a list (one flag with several values)',
});
const condition = z.union([scalar, z.array(value)], {
  error: 'a value, a comparison such as ">= 4", or a list of values (any of them)',
});
const conditions = z.record(z.string(), condition);

/** A list of words, so that quoting is never a question. */
const argv = z.array(word);

const target = z.strictObject({
  ssh: z.string().optional().describe('ssh alias or user@host; omit for this machine'),
  unit: z.string().optional().describe('systemd unit that serves production, e.g. sglang.service'),
  user: z.boolean().optional().describe('the unit is one of systemctl --user; false'),
  lease: duration
    .optional()
    .describe('a unit is restored when nothing was heard of the sweep for this long; 15m'),
  unit_file: z
    .string()
    .optional()
    .describe('unit file whose command is run here as a process; relative to this file'),
  command: argv.optional().describe('launch command, one list item a word'),
  program: argv
    .optional()
    .describe(
      "words that replace the program of the unit's command (python3 -m sglang.launch_server); $nightsweep stands for nightsweep itself",
    ),
  environment: z.record(z.string(), word).optional().describe('added to the server environment'),
  working_directory: z.string().optional().describe('relative to this file'),
  base_url: z.string().optional().describe('where the server answers; http://127.0.0.1:30000'),
  api_key_env: z
    .string()
    .optional()
    .describe('name of the environment variable that holds the API key'),
});

const workload = z.strictObject({
  prompts: z
    .string()
    .optional()
    .describe(`${PROMPT_KINDS.join(', ')}, or a file`),
  input_tokens: count.optional().describe('tokens per prompt; 1000'),
  output_tokens: count.optional().describe('tokens asked for per request; 1000'),
  ignore_eos: z.boolean().optional().describe('always produce output_tokens tokens; true'),
  api: z.enum(['native', 'openai-completions', 'openai-chat']).optional().describe('native'),
  requests: count.optional().describe('requests per measurement; max(4, 2 x concurrency)'),
  seed: count.optional().describe('prompts are the same for the same seed; 1'),
  salt: word
    .optional()
    .describe(
      'sends the prompts of an earlier sweep again: the first part of prompt_salt in its conditions; new for every sweep',
    ),
  token_id: count.optional().describe('token that fixed-token prompts repeat; 23066'),
  id_range: z
    .array(count)
    .optional()
    .describe('first and last token id of random-ids prompts; [1000, 29999]'),
  shared_prefix: fraction
    .optional()
    .describe('share of each prompt that all prompts of a measurement begin with; 0%'),
  session: z
    .strictObject({
      turns: count.optional().describe('requests of a session; 6'),
      pause: duration.optional().describe('mean pause before the next one: a tool at work; 2s'),
      turn_tokens: count.optional().describe('tokens that a turn adds to the prompt; 600'),
    })
    .optional()
    .describe('shape of the sessions of agentic prompts'),
  think_time: duration
    .optional()
    .describe('closed loop: pause between an answer and the next request; 0s'),
  arrivals: z
    .strictObject({
      rate: z
        .number()
        .describe('requests per second of each user; at C of the profile there are C of them'),
      process: z.enum(PROCESSES).optional().describe('gaps between requests; poisson'),
      burstiness: z
        .number()
        .optional()
        .describe('shape of gamma gaps: below 1 in bursts, 1 as poisson, above more even; 1'),
    })
    .optional()
    .describe('open loop: requests come at their own times, however many are in flight'),
});

const measure = z.strictObject({
  repeats: count.optional().describe('measurements per concurrency in one launch; 1'),
  finalists: count
    .optional()
    .describe('most promising trials that are launched again, interleaved with the baseline; 3'),
  launches: count
    .optional()
    .describe(
      'launches of each finalist at most: one that finds it and the rest, beside as many of the baseline, that confirm it; 12 confirming ones tell +3 % from nothing where launches differ by 1.5 %; 13',
    ),
  warm_up: z
    .strictObject({
      requests: count.optional().describe('of one window; C'),
      limit: duration.optional().describe('measures unsettled, and marked, after this long; 2m'),
    })
    .optional()
    .describe('windows of requests before each measurement, until two are equally fast'),
  load_from: z
    .enum(LOAD_FROM)
    .optional()
    .describe(
      'where the load of a unit behind ssh comes from: here (through ssh), server (the load generator is copied there), or auto: server where a Node runs there; here',
    ),
  request_timeout: duration.optional().describe('one request; 10m'),
  point_timeout: duration.optional().describe('one measurement; 30m'),
  stall: duration.optional().describe('ends a measurement when no token came for this long; 60s'),
  max_failures: fraction
    .optional()
    .describe('ends a measurement when a larger share of its requests failed; 50%'),
  give_up_below: fraction
    .optional()
    .describe(
      'ends a measurement that is slower than this share of the baseline; 0% is never; 30%',
    ),
  drop_losers: z
    .boolean()
    .optional()
    .describe(
      'ends the launch of a trial that could not win even if its other concurrencies went as well as any trial’s; false for a whole table of every trial; true',
    ),
  output_check: z
    .strictObject({
      misses: count
        .optional()
        .describe('known answers a trial may miss that the baseline gives; 1'),
      similarity: fraction
        .optional()
        .describe(
          'least mean share of first words that answers have in common with the baseline; 0%',
        ),
    })
    .optional()
    .describe('how the outputs of every launch are compared with those of the baseline'),
});

const start = z.strictObject({
  stall: duration.optional().describe('gives a launch up when its log stands still; 5m'),
  total: duration.optional().describe('gives a launch up in any case; 30m'),
  stop: duration.optional().describe('time to stop in before it is killed; 60s'),
  gpu_release: duration
    .optional()
    .describe('time until the GPU must be free again after a stop; 2m'),
});

const expectation = z.strictObject({
  workload: workload
    .optional()
    .describe('how the numbers were taken; the study workload if absent'),
  throughput: z.enum(['whole-run', 'steady']).optional().describe('whole-run'),
  values: z
    .record(z.string(), z.number())
    .describe('concurrency to recorded output tokens per second'),
  tolerance: z
    .union([z.number(), z.string()], { error: 'a percentage such as 3%' })
    .optional()
    .describe('3%'),
});

/** A study file as it is written. What a section means is checked by the module of that section. */
export const studySchema = z.strictObject({
  study: z.string().describe('name of the study in the database and of its results folder'),
  target: target.describe('where the server lives: exactly one of unit, unit_file and command'),
  profile: z
    .record(z.string(), z.number())
    .describe('share of serving time at each number of requests in flight; shares sum to 1'),
  objective: z
    .strictObject({
      score: z.enum(SCORE_KINDS).optional().describe('what ranks; relative'),
      limits: z
        .array(z.string())
        .optional()
        .describe('results a configuration must keep, e.g. p99_ttft_ms <= 4000'),
      slo: z
        .strictObject({
          ttft: duration.optional().describe('from when the request was due'),
          tpot: duration.optional(),
          e2e: duration.optional(),
        })
        .optional()
        .describe('what a request must keep to count as goodput (limit goodput_fraction >= 95%)'),
    })
    .optional(),
  workload: workload.optional(),
  measure: measure.optional(),
  start: start.optional(),
  parameters: z
    .record(z.string(), z.array(value))
    .describe('SGLang flag, or env.NAME, to the values to try; ~ is an absent flag'),
  constraints: z
    .array(
      z.strictObject({
        when: conditions.optional(),
        require: conditions.optional(),
        forbid: conditions.optional(),
      }),
    )
    .optional()
    .describe('combinations that are not tried'),
  baseline: z.strictObject({ expect: expectation.optional() }).optional(),
  budget: z
    .strictObject({
      until: z.string().optional().describe('local time of day, "07:00"'),
      hours: z.number().optional(),
      launches: count.optional(),
    })
    .optional()
    .describe('the sweep ends at whichever comes first'),
  notify: z
    .strictObject({
      webhook: z.string().optional().describe('address that gets a JSON POST'),
      webhook_env: z
        .string()
        .optional()
        .describe('environment variable with that address, where it is a secret'),
      command: argv.optional().describe('command that gets the JSON on standard input'),
      on: z.array(z.enum(NOTIFY_EVENTS)).optional().describe('end, trouble; both'),
      body: z
        .string()
        .optional()
        .describe('JSON to post, with $event, $study and $text: {"text": "$study: $text"}'),
    })
    .optional()
    .describe('whom the sweep tells when it ends or needs a person'),
});

export type StudyFile = z.infer<typeof studySchema>;
export type WorkloadSection = z.infer<typeof workload>;
export type TargetSection = z.infer<typeof target>;
