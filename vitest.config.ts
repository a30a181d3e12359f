import { configDefaults, defineConfig } from 'vitest/config';

/** Tests that boot a container: two at a time would starve each other on a small machine. */
const container = 'test/integration/{ssh,systemd}/**/*.test.ts';

export default defineConfig({
  test: {
    projects: [
      { test: { name: 'unit', include: ['test/unit/**/*.test.ts'] } },
      {
        test: {
          name: 'integration',
          include: ['test/{integration,contract}/**/*.test.ts'],
          exclude: [...configDefaults.exclude, container],
          testTimeout: 30_000,
          hookTimeout: 30_000,
        },
      },
      {
        test: {
          name: 'container',
          include: [container],
          testTimeout: 60_000,
          hookTimeout: 300_000,
          fileParallelism: false,
        },
      },
      {
        test: {
          name: 'e2e',
          include: ['test/e2e/**/*.test.ts'],
          testTimeout: 180_000,
          hookTimeout: 180_000,
          fileParallelism: false,
        },
      },
    ],
  },
});
