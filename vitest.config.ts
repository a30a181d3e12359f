import { configDefaults, defineConfig } from 'vitest/config';

/** Tests that boot a container: they wait more than they work, so that two at a time fit two cores. */
const container = ['test/integration/{ssh,systemd}/**/*.test.ts', 'test/e2e/systemd-*.test.ts'];
const CONTAINERS_AT_A_TIME = 2;

const setupFiles = ['test/fixed-seed.ts'];

/**
 * Projects run one after the other: whole sweeps of the e2e tests measure, and would measure the
 * other tests too.
 */
export default defineConfig({
  test: {
    projects: [
      {
        test: {
          name: 'unit',
          setupFiles,
          include: ['test/unit/**/*.test.ts'],
          sequence: { groupOrder: 0 },
        },
      },
      {
        test: {
          name: 'integration',
          setupFiles,
          sequence: { groupOrder: 1 },
          include: ['test/{integration,contract}/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...container],
          testTimeout: 30_000,
          hookTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'container',
          setupFiles,
          sequence: { groupOrder: 2 },
          include: container,
          testTimeout: 180_000,
          hookTimeout: 300_000,
          maxWorkers: CONTAINERS_AT_A_TIME,
        },
      },
      {
        test: {
          name: 'e2e',
          setupFiles,
          sequence: { groupOrder: 3 },
          include: ['test/e2e/**/*.test.ts'],
          exclude: [...configDefaults.exclude, ...container],
          testTimeout: 180_000,
          hookTimeout: 180_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
