import { mkdtemp, rm } from 'node:fs/promises';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { localHost } from '../../../src/host/local-host.ts';
import { hostContract } from './host.contract.ts';

hostContract('this machine', localHost, {
  make: () => mkdtemp(join(tmpdir(), 'nightsweep-test-')),
  remove: (path) => rm(path, { recursive: true }),
});
