import { readFileSync } from 'node:fs';
import { readService } from '../../src/service-file/read-service.ts';
import type { ReadServiceOptions, Service } from '../../src/service-file/service.ts';

/** Text of a unit in test/fixtures/units. */
export function unitText(name: string): string {
  return readFileSync(new URL(`../fixtures/units/${name}`, import.meta.url), 'utf8');
}

/** A service from unit text and drop-ins, in order. */
export function service(
  texts: string | readonly string[],
  options: Partial<ReadServiceOptions> = {},
): Service {
  const list = typeof texts === 'string' ? [texts] : texts;
  const sources = list.map((text, i) => ({
    path: i === 0 ? '/etc/systemd/system/sglang.service' : `/run/${i}.conf`,
    text,
  }));
  return readService(sources, { unitName: 'sglang.service', ...options });
}
