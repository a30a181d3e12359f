/** Where a simulated server prints; `process` fits. */
export interface SimulatorIo {
  readonly stdout: { write(text: string): unknown };
  readonly stderr: { write(text: string): unknown };
}
