/**
 * Migrations in order; number n brings a file from `user_version` n to n + 1. A released migration
 * is never edited: a change of the schema is a new one at the end.
 *
 * Objects and lists are JSON text. Moments are wall-clock ms since 1970, except in `requests`,
 * where they are ms from the start of the measurement on the server's clock.
 */
export const migrations: readonly string[] = [
  `
  CREATE TABLE studies (
    id INTEGER PRIMARY KEY,
    name TEXT NOT NULL UNIQUE CHECK (name <> ''),
    created_at_ms INTEGER NOT NULL,
    workload TEXT NOT NULL,
    profile TEXT NOT NULL,
    score_kind TEXT NOT NULL,
    limits TEXT NOT NULL,
    sglang_version TEXT,
    baseline_argv TEXT NOT NULL,
    unit_text TEXT NOT NULL,
    help_text TEXT NOT NULL,
    seed INTEGER NOT NULL
  ) STRICT;

  CREATE TABLE study_meta (
    study_id INTEGER NOT NULL REFERENCES studies (id),
    key TEXT NOT NULL,
    value TEXT NOT NULL,
    PRIMARY KEY (study_id, key)
  ) STRICT, WITHOUT ROWID;

  CREATE TABLE trials (
    id INTEGER PRIMARY KEY,
    study_id INTEGER NOT NULL REFERENCES studies (id),
    number INTEGER NOT NULL CHECK (number >= 0),
    assignment TEXT NOT NULL,
    assignment_key TEXT NOT NULL,
    is_baseline INTEGER NOT NULL CHECK (is_baseline IN (0, 1)),
    state TEXT NOT NULL
      CHECK (state IN ('planned', 'completed', 'partial', 'infeasible', 'failed', 'skipped')),
    cause TEXT,
    reason TEXT,
    UNIQUE (study_id, assignment_key),
    UNIQUE (study_id, number)
  ) STRICT;
  CREATE UNIQUE INDEX one_baseline ON trials (study_id) WHERE is_baseline = 1;

  CREATE TABLE launches (
    id INTEGER PRIMARY KEY,
    trial_id INTEGER NOT NULL REFERENCES trials (id),
    kind TEXT NOT NULL CHECK (kind IN ('started', 'imported')),
    source TEXT,
    source_hash TEXT,
    started_at_ms INTEGER NOT NULL,
    argv TEXT NOT NULL,
    environment TEXT NOT NULL,
    log_path TEXT NOT NULL,
    versions TEXT NOT NULL,
    seed INTEGER NOT NULL,
    ready_seconds REAL,
    effective TEXT,
    sglang_version TEXT,
    state TEXT NOT NULL DEFAULT 'running' CHECK (state IN
      ('running', 'completed', 'crashed', 'not-ready', 'interrupted', 'failed')),
    cause TEXT,
    message TEXT,
    exit_code INTEGER,
    exit_signal TEXT,
    log_tail TEXT NOT NULL DEFAULT '[]',
    crashed_at_concurrency INTEGER,
    UNIQUE (id, trial_id),
    UNIQUE (trial_id, source_hash)
  ) STRICT;

  CREATE TABLE measurements (
    id INTEGER PRIMARY KEY,
    launch_id INTEGER NOT NULL,
    trial_id INTEGER NOT NULL,
    round INTEGER NOT NULL CHECK (round >= 0),
    concurrency INTEGER NOT NULL CHECK (concurrency >= 1),
    repeat INTEGER NOT NULL CHECK (repeat >= 0),
    started_at_ms INTEGER NOT NULL,
    output_tokens_per_second REAL NOT NULL CHECK (output_tokens_per_second > 0),
    throughput_kind TEXT NOT NULL CHECK (throughput_kind IN ('steady', 'whole-run')),
    tokens_from TEXT NOT NULL CHECK (tokens_from IN ('server', 'estimated')),
    metrics TEXT NOT NULL,
    conditions TEXT NOT NULL,
    UNIQUE (trial_id, round, concurrency, repeat),
    FOREIGN KEY (launch_id, trial_id) REFERENCES launches (id, trial_id)
  ) STRICT;

  CREATE TABLE requests (
    measurement_id INTEGER NOT NULL REFERENCES measurements (id),
    request_index INTEGER NOT NULL,
    intended_at_ms REAL NOT NULL,
    sent_at_ms REAL NOT NULL,
    first_token_at_ms REAL,
    last_token_at_ms REAL,
    ended_at_ms REAL NOT NULL,
    chunks INTEGER NOT NULL,
    output_tokens INTEGER NOT NULL,
    prompt_tokens INTEGER NOT NULL,
    cached_tokens INTEGER,
    requested_output_tokens INTEGER NOT NULL,
    verify_count INTEGER,
    finish_reason TEXT,
    tokens_from TEXT NOT NULL,
    outcome TEXT NOT NULL,
    error_kind TEXT,
    error_message TEXT,
    error_http_status INTEGER,
    retried INTEGER,
    PRIMARY KEY (measurement_id, request_index)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  CREATE TABLE gpu_samples (
    measurement_id INTEGER NOT NULL REFERENCES measurements (id),
    taken_at_ms INTEGER NOT NULL,
    gpu_index INTEGER NOT NULL CHECK (gpu_index >= 0),
    temperature_celsius REAL,
    sm_clock_mhz REAL,
    power_watts REAL,
    memory_used_mib REAL,
    throttle_reasons TEXT NOT NULL,
    PRIMARY KEY (measurement_id, taken_at_ms, gpu_index)
  ) STRICT, WITHOUT ROWID;
  `,
  `
  ALTER TABLE launches ADD COLUMN ended_at_ms INTEGER;
  `,
];
