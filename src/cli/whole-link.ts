import { HostUnreachableError } from '../host/ssh-errors.ts';
import type { SshHost } from '../host/ssh-host.ts';
import { isNetworkFailure } from '../load/network-failure.ts';
import type { Measurer } from '../study/services.ts';

/** Times one measurement is taken on a link that breaks. */
const ATTEMPTS = 3;
const COMMAND_LIMIT_MS = 30_000;

/**
 * The measurer for load that goes through a port which ssh forwards: a measurement during which
 * the link broke says nothing about the server. It is dropped, and taken again once the link is
 * back, on the server that ran on meanwhile. Load that ran on the server itself (`carriesLoad`
 * false) is not lost with the link: then only what failed is taken again.
 */
export function onWholeLink(
  measurer: Measurer,
  ssh: Pick<SshHost, 'linkLosses' | 'run'>,
  tell: (line: string) => void,
  { carriesLoad = true }: { readonly carriesLoad?: boolean } = {},
): Measurer {
  return {
    measure: async (request) => {
      for (let attempt = 1; ; attempt += 1) {
        const losses = ssh.linkLosses();
        const outcome = await measurer.measure(request).then(
          (point) => ({ point }),
          (error: unknown) => ({ error }),
        );
        const isWhole = ssh.linkLosses() === losses;
        request.signal.throwIfAborted();
        if ('error' in outcome && (isWhole || !isOfLink(outcome.error))) throw outcome.error;
        if ('point' in outcome && (isWhole || !carriesLoad || attempt === ATTEMPTS))
          return outcome.point;
        if ('error' in outcome && attempt === ATTEMPTS) throw outcome.error;
        tell(
          `the link broke while C=${String(request.concurrency)} was measured: it is measured again`,
        );
        // Waits until the link is back.
        await ssh.run({ argv: ['true'], timeoutMs: COMMAND_LIMIT_MS, repeatable: true });
      }
    },
  };
}

function isOfLink(error: unknown): boolean {
  return isNetworkFailure(error) || error instanceof HostUnreachableError;
}
