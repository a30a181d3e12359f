import { createRequire } from 'node:module';
import type Database from 'better-sqlite3';

/** From here on Node.js runs the binary that rests on Node-API; older ones crash on loading it. */
const FIRST_NODE_OF_13 = 22;

let loaded: typeof Database | undefined;

/**
 * The SQLite binding that fits this Node.js: better-sqlite3 13 where it was installed and runs,
 * else 12.
 *
 * Two versions are needed: 13 ends Node 20 with a segmentation fault, and 12 ends Node 24.19 and
 * later with an abort whenever its statements are collected while no JavaScript runs
 * (WiseLibs/better-sqlite3#1515). npm leaves 13, an optional dependency, out on Node 20.
 *
 * @throws the loader's error when the binary does not fit.
 */
export function loadSqlite(): typeof Database {
  loaded ??= load();
  return loaded;
}

function load(): typeof Database {
  const require = createRequire(import.meta.url);
  if (Number.parseInt(process.versions.node, 10) >= FIRST_NODE_OF_13) {
    try {
      return require('better-sqlite3-napi') as typeof Database;
    } catch (error) {
      const isAbsent =
        error instanceof Error && 'code' in error && error.code === 'MODULE_NOT_FOUND';
      if (!isAbsent) throw error;
    }
  }
  return require('better-sqlite3') as typeof Database;
}
