import { request } from 'node:http';
import type { SimClock } from './sim-clock.ts';

/** SGLang's warm-up asks for the model so often, a second apart, before it gives up. */
const ATTEMPTS = 120;

/** Status of one GET, or undefined when nothing answers within the signal's life. */
function statusOf(host: string, port: number, signal: AbortSignal): Promise<number | undefined> {
  return new Promise((resolve) => {
    const name = host === '0.0.0.0' ? '127.0.0.1' : host;
    const asked = request({ host: name, port, path: '/model_info', signal }, (response) => {
      response.resume();
      resolve(response.statusCode);
    });
    asked.on('error', () => {
      resolve(undefined);
    });
    asked.end();
  });
}

/**
 * What SGLang's warm-up finds on a port that another process holds: a server that answers like
 * SGLang, or one that does not until the warm-up gives up. A silent listener makes it wait for good.
 */
export async function warmUpOtherServer(
  host: string,
  port: number,
  clock: SimClock,
  signal: AbortSignal,
): Promise<'sglang' | 'other'> {
  for (let attempt = 0; attempt < ATTEMPTS; attempt += 1) {
    if ((await statusOf(host, port, signal)) === 200) return 'sglang';
    await clock.sleep(1000, signal);
  }
  return 'other';
}
