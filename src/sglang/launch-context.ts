import type { FlagValue } from '../search-space/assignment.ts';
import { attentionOf } from './rules/models.ts';

/** What is known of the server and its machine; what is absent is unknown, never assumed. */
export interface LaunchContext {
  /** SGLang version, `0.5.23`. */
  readonly version?: string;
  readonly device?: 'cuda' | 'cpu' | 'hip' | 'xpu' | 'npu' | 'musa' | 'hpu';
  readonly gpuName?: string;
  /** Exact compute capability, `9.0`, `10.0`, `12.0` (field report B15: compared exactly). */
  readonly gpuCapability?: string;
  readonly gpuCount?: number;
  /** Memory of one device; on a CPU that of the machine. */
  readonly deviceMemoryGib?: number;
  /** First entry of `architectures` in the model's configuration. */
  readonly modelArchitecture?: string;
  readonly hasFlashinfer?: boolean;
  readonly hasAmx?: boolean;
}

/**
 * The context as values that conditions can name, in rules and in a study's constraints:
 * `gpu.name`, `gpu.capability`, `gpu.count`, `sglang.version` and so on. Undefined: not known.
 */
export function contextValues(context: LaunchContext): Record<string, FlagValue | undefined> {
  const isCpu = context.device === 'cpu';
  return {
    'sglang.version': context.version,
    device: context.device,
    'gpu.name': isCpu ? null : context.gpuName,
    'gpu.capability': isCpu ? null : context.gpuCapability,
    'gpu.count': isCpu ? 0 : context.gpuCount,
    'device.memory_gib': context.deviceMemoryGib,
    'model.architecture': context.modelArchitecture,
    'model.attention': attentionOf(context.modelArchitecture),
    'packages.flashinfer': context.hasFlashinfer,
    'host.amx': context.hasAmx,
  };
}
