import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll } from 'vitest';
import { openStore } from '../../src/storage/open-store.ts';
import { studyStoreContract } from './study-store.contract.ts';

const folder = mkdtempSync(join(tmpdir(), 'nightsweep-'));
let files = 0;
const freshPath = () => join(folder, `${String(files++)}.sqlite`);
afterAll(() => {
  rmSync(folder, { recursive: true });
});

studyStoreContract('memory', () => openStore(':memory:'));
studyStoreContract('file', () => openStore(freshPath()));
studyStoreContract('network file system', () =>
  openStore(freshPath(), { fileSystemType: () => 0x6969 }),
);
