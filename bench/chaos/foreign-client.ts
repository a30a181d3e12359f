/** Somebody else's client: keeps four requests at the server while it is on. */
export function foreignClient(baseUrl: string): { start(): void; stop(): void } {
  let abort: AbortController | undefined;
  const keepBusy = async (client: number, signal: AbortSignal) => {
    const body = JSON.stringify({
      text: 'Somebody else asks',
      // Of different lengths: in step, all would now and then be between two requests at once.
      sampling_params: { max_new_tokens: 2000 + 370 * client, ignore_eos: true },
    });
    while (!signal.aborted) {
      try {
        await (await fetch(`${baseUrl}/generate`, { method: 'POST', body, signal })).text();
      } catch {
        await new Promise((resolve) => setTimeout(resolve, 5));
      }
    }
  };
  return {
    start: () => {
      if (abort !== undefined) return;
      abort = new AbortController();
      for (let client = 0; client < 4; client += 1) void keepBusy(client, abort.signal);
    },
    stop: () => {
      abort?.abort();
      abort = undefined;
    },
  };
}
