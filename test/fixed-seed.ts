import fc from 'fast-check';

/**
 * Properties are tried with the same values in every run, so that a run tells of the change and not
 * of its luck; `FC_SEED=7 npm test` looks further.
 */
fc.configureGlobal({ seed: Number(process.env['FC_SEED'] ?? 20_261_201) });
