import { readFile } from 'node:fs/promises';
import { expect, test } from 'vitest';
import { studyJsonSchema } from '../../../src/config/json-schema.ts';

// To renew: npx tsx -e "import('./src/config/json-schema.ts').then((m) => console.log(JSON.stringify(m.studyJsonSchema())))" > search-spaces/study.schema.json; npx biome check --write search-spaces
test('the JSON schema that editors use is the one study files are checked against', async () => {
  const committed = await readFile(
    new URL('../../../search-spaces/study.schema.json', import.meta.url),
    'utf8',
  );
  expect(JSON.parse(committed)).toEqual(studyJsonSchema());
});
