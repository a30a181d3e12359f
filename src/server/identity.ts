import { listenersOn } from './listening.ts';
import { environmentOf, liveProcess } from './process-table.ts';
import { MARKER_VARIABLE } from './run-marker.ts';
import type { PortOwner } from './target.ts';

/**
 * Compares the listeners of a port with the group, session and marker of a server's process.
 *
 * A second SGLang on a taken port prints that it is ready, because its warm-up request reached the
 * first one (seen with 0.5.23): a completion alone does not prove that the new server answers.
 */
export function portOwner(serverPid: number, port: number): PortOwner {
  const listeners = listenersOn(port);
  if (listeners.length === 0) return 'nobody';
  const pids = listeners.flatMap(({ pid }) => pid ?? []);
  if (pids.length === 0) return 'unknown';
  return pids.every((pid) => belongsTo(serverPid, pid)) ? 'ours' : 'foreign';
}

function belongsTo(serverPid: number, pid: number): boolean {
  if (pid === serverPid) return true;
  const process = liveProcess(pid);
  if (process?.groupId === serverPid || process?.sessionId === serverPid) return true;
  const marker = environmentOf(serverPid, MARKER_VARIABLE);
  return marker !== undefined && environmentOf(pid, MARKER_VARIABLE) === marker;
}
