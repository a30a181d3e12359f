import { mkdirSync, mkdtempSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, describe, expect, test } from 'vitest';
import { UserError } from '../../src/errors.ts';
import { loadSqlite } from '../../src/storage/load-sqlite.ts';
import { openStore } from '../../src/storage/open-store.ts';
import { identity, launch, metrics } from '../contract/study-store.contract.ts';

const Database = loadSqlite();

const folder = mkdtempSync(join(tmpdir(), 'nightsweep-'));
afterAll(() => {
  rmSync(folder, { recursive: true });
});
const at = (name: string) => join(folder, name);

function refusal(open: () => unknown): UserError {
  try {
    open();
  } catch (error) {
    if (error instanceof UserError) return error;
    throw error;
  }
  throw new Error('it opened');
}

describe('opening', () => {
  test('creates the file and the folders above it', () => {
    using store = openStore(at('deep/er/study.sqlite'));
    expect(store.studies()).toEqual([]);
  });

  test('keeps what was stored', () => {
    {
      using store = openStore(at('kept.sqlite'));
      store.createStudy(identity, 1);
    }
    using again = openStore(at('kept.sqlite'));
    expect(again.findStudy('agentic')?.profile).toEqual(identity.profile);
  });

  test('to read a missing file is an error that names it, and creates nothing', () => {
    expect(refusal(() => openStore(at('none.sqlite'), { readOnly: true })).message).toBe(
      `there is no database at ${at('none.sqlite')}`,
    );
    expect(() => statSync(at('none.sqlite'))).toThrow();
  });

  test('a file that is no database is refused and left alone', () => {
    const text = 'study: not a database, just some YAML that was named by mistake\n'.repeat(20);
    writeFileSync(at('study.yaml'), text);
    expect(refusal(() => openStore(at('study.yaml'))).message).toContain('not an SQLite database');
    expect(statSync(at('study.yaml')).size).toBe(text.length);
  });

  test('a database of another program is refused and left alone', () => {
    const other = new Database(at('other.sqlite'));
    other.exec('CREATE TABLE bookmarks (url TEXT)');
    other.close();
    expect(refusal(() => openStore(at('other.sqlite'))).message).toContain('another program');
    const after = new Database(at('other.sqlite'));
    expect(after.pragma('journal_mode', { simple: true })).toBe('delete');
    after.close();
  });

  test('a database of a newer nightsweep is refused', () => {
    openStore(at('newer.sqlite'))[Symbol.dispose]();
    const raw = new Database(at('newer.sqlite'));
    raw.pragma('user_version = 99');
    raw.close();
    expect(refusal(() => openStore(at('newer.sqlite'))).message).toContain('newer nightsweep');
  });

  test('a folder is refused', () => {
    mkdirSync(at('folder'));
    expect(refusal(() => openStore(at('folder'))).message).toContain('is not a file');
  });

  test('a path through a file is refused', () => {
    writeFileSync(at('plain'), '');
    expect(refusal(() => openStore(at('plain/study.sqlite'))).message).toContain(
      'plain is a file, not a folder',
    );
  });

  test('a place where nobody may write is refused', () => {
    // The kernel's own folder: refused for root too, for whom permissions do not count.
    expect(refusal(() => openStore('/proc/nightsweep/study.sqlite')).message).toMatch(
      /cannot be (created|opened)/,
    );
  });

  test('an empty file becomes a database', () => {
    writeFileSync(at('empty.sqlite'), '');
    using store = openStore(at('empty.sqlite'));
    expect(store.studies()).toEqual([]);
  });
});

describe('journals', () => {
  test('a local disk gets a write-ahead log, without a notice', () => {
    using store = openStore(at('local.sqlite'), { fileSystemType: () => 0xef53 });
    const raw = new Database(at('local.sqlite'));
    expect(raw.pragma('journal_mode', { simple: true })).toBe('wal');
    raw.close();
    expect(store.notices).toEqual([]);
  });

  test('a network file system gets a plain journal, and the user is told (E17)', () => {
    openStore(at('nfs.sqlite'))[Symbol.dispose]();
    using store = openStore(at('nfs.sqlite'), { fileSystemType: () => 0x6969 });
    const raw = new Database(at('nfs.sqlite'));
    expect(raw.pragma('journal_mode', { simple: true })).toBe('delete');
    raw.close();
    expect(store.notices.join()).toContain('network file system (nfs)');
  });
});

describe('at the same time', () => {
  test('a reader sees each measurement as soon as it is committed', () => {
    using writer = openStore(at('shared.sqlite'));
    const study = writer.createStudy(identity, 1);
    const [baseline] = writer.planTrials(study.id, [
      { assignment: {}, isBaseline: true, state: 'planned' },
    ]);
    const trialId = baseline?.id ?? -1;
    using reader = openStore(at('shared.sqlite'), { readOnly: true });
    expect(reader.measurements(study.id)).toHaveLength(0);
    writer.addMeasurement({
      launchId: launch(writer, trialId),
      trialId,
      round: 0,
      concurrency: 16,
      repeat: 0,
      startedAtMs: 1,
      metrics: metrics(),
      records: [],
      conditions: {},
    });
    expect(reader.measurements(study.id)).toHaveLength(1);
  });

  test('a reader cannot write', () => {
    openStore(at('read.sqlite'))[Symbol.dispose]();
    using reader = openStore(at('read.sqlite'), { readOnly: true });
    expect(() => reader.createStudy(identity, 1)).toThrow('cannot be written');
  });

  test('an open read of another process does not stop a write (E16)', () => {
    using writer = openStore(at('busy.sqlite'));
    const study = writer.createStudy(identity, 1);
    const other = new Database(at('busy.sqlite'));
    other.exec('BEGIN; SELECT * FROM studies');
    writer.setStudyMeta(study.id, 'key', 1);
    other.close();
    expect(writer.studyMeta(study.id, 'key')).toBe(1);
  });
});
