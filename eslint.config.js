import { defineConfig } from 'eslint/config';
import tseslint from 'typescript-eslint';

/** Folders of src/, inner first. Each may import from those before it, never from those after. */
const layers = [
  'search-space',
  'sglang',
  'metrics',
  'service-file',
  'ranking',
  'host',
  'server',
  'load',
  'remote-load',
  'samplers',
  'storage',
  'config',
  'study',
  'report',
  'simulator',
  'cli',
];

/** Folders that compute only: no files, processes, sockets or clocks. */
const pure = ['search-space', 'sglang', 'metrics', 'service-file', 'ranking'];

const ioModules = ['node:fs', 'node:fs/promises', 'node:child_process', 'node:net', 'node:http'];

const inwardOnly = layers.slice(0, -1).map((layer, i) => {
  const group = layers.slice(i + 1).map((outer) => `**/${outer}/**`);
  const message = `src/${layer} may not import an outer layer (see layers in eslint.config.js).`;
  const paths = pure.includes(layer)
    ? ioModules.map((name) => ({ name, message: `src/${layer} is pure: no input or output here.` }))
    : [];
  return {
    files: [`src/${layer}/**`],
    rules: { 'no-restricted-imports': ['error', { patterns: [{ group, message }], paths }] },
  };
});

export default defineConfig(
  {
    ignores: [
      'dist/**',
      'results/**',
      'test/fixtures/**',
      'test/real/.work/**',
      'bench/**/.work/**',
    ],
  },
  {
    files: ['src/**/*.ts', 'test/**/*.ts', 'bench/**/*.ts', '*.ts'],
    extends: [tseslint.configs.strictTypeChecked],
    languageOptions: {
      parserOptions: { projectService: true, tsconfigRootDir: import.meta.dirname },
    },
    rules: {
      '@typescript-eslint/switch-exhaustiveness-check': [
        'error',
        { considerDefaultExhaustiveForUnions: true },
      ],
      '@typescript-eslint/restrict-template-expressions': [
        'error',
        { allowNumber: true, allowBoolean: true },
      ],
    },
  },
  { files: ['src/**'], ignores: ['src/cli/**'], rules: { 'no-console': 'error' } },
  inwardOnly,
);
