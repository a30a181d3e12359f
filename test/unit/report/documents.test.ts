import { expect, test } from 'vitest';
import {
  CAUSE_EXPLANATIONS,
  type Explanation,
  MARK_EXPLANATIONS,
  METRIC_EXPLANATIONS,
} from '../../../src/report/explanations.ts';
import { loadSqlite } from '../../../src/storage/load-sqlite.ts';
import { migrations } from '../../../src/storage/schema.ts';

const Sqlite = loadSqlite();

const MADE =
  'This page is made from the code: `npx vitest run -u test/unit/report/documents.test.ts` renews it.';

function section(title: string, words: Readonly<Record<string, Explanation>>): string {
  const rows = Object.entries(words).map(([word, { means, advice }]) => {
    const text = advice === undefined ? means : `${means} *${advice}*`;
    return `| \`${word}\` | ${text.replaceAll('|', '\\|')} |`;
  });
  return `## ${title}\n\n| | |\n|---|---|\n${rows.join('\n')}\n`;
}

test('docs/words.md explains what the code explains', async () => {
  const text = `# Words

${MADE} On the command line: \`nightsweep explain WORD\`.

${section('Metrics', METRIC_EXPLANATIONS)}
${section('Marks', MARK_EXPLANATIONS)}`;
  await expect(text).toMatchFileSnapshot('../../../docs/words.md');
});

test('docs/troubleshooting.md has every cause of a failed launch', async () => {
  const text = `# Troubleshooting by cause

${MADE} A failed trial shows its cause in the report, in \`status\` and in the export; the whole log lies in \`logs/\` beside
the database. \`nightsweep explain CAUSE\` says besides whether it is tried again.

${section('Causes', CAUSE_EXPLANATIONS)}`;
  await expect(text).toMatchFileSnapshot('../../../docs/troubleshooting.md');
});

interface Column {
  readonly name: string;
  readonly type: string;
  readonly notnull: 0 | 1;
  readonly pk: number;
}

test('docs/database.md lists every table and column of the schema', async () => {
  const database = new Sqlite(':memory:');
  for (const sql of migrations) database.exec(sql);
  const tables = database
    .prepare("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY rowid")
    .pluck()
    .all() as string[];
  const sections = tables.map((table) => {
    const columns = database.pragma(`table_info(${table})`) as Column[];
    const rows = columns.map(
      ({ name, type, notnull, pk }) =>
        `| \`${name}\` | ${type}${pk > 0 ? ', key' : ''} | ${notnull === 1 || pk > 0 ? '' : 'may be null'} |`,
    );
    return `## ${table}\n\n| column | type | |\n|---|---|---|\n${rows.join('\n')}\n`;
  });
  database.close();
  const text = `# Database

${MADE}

One SQLite file, schema version ${migrations.length} (\`user_version\`). Objects and lists are JSON text; moments are wall-clock ms since 1970, except
in \`requests\`, where they are ms from the start of the measurement. Units stand in the names. A measurement is never changed
once stored; its key is trial, round, concurrency and repeat. \`nightsweep export\` gives the same as JSON, JSONL or CSV.

${sections.join('\n')}`;
  await expect(text).toMatchFileSnapshot('../../../docs/database.md');
});
