import { defineConfig } from 'vitest/config';

/** Only for `npm run test:real`: real servers on this machine, one file after the other. */
export default defineConfig({
  test: {
    include: ['test/real/**/*.test.ts'],
    testTimeout: 1_800_000,
    hookTimeout: 300_000,
    fileParallelism: false,
  },
});
