import type { Assignment } from '../search-space/assignment.ts';
import { applyAssignment } from '../sglang/apply-assignment.ts';
import type { HelpText } from '../sglang/help.ts';
import { commandEdits } from './command-edits.ts';
import { environmentEdits, type FileEdits, variableChanges } from './environment-edits.ts';
import { readService, requireSglangLaunch } from './read-service.ts';
import type { ReadServiceOptions, Service, UnitSource } from './service.ts';
import { applyTextEdits } from './text-edits.ts';

export interface EmitOptions extends ReadServiceOptions {
  /** SGLang version of the help text, where known. */
  readonly version?: string | undefined;
}

/** A service with an assignment written into it. */
export interface EmittedService {
  /** The unit, then its drop-ins; those without a change are byte for byte as they were. */
  readonly files: readonly UnitSource[];
  /** The service as the new files make it. */
  readonly service: Service;
  /** Variables of the command (`$ARGS`) that were replaced by their words, since a flag in them changed. */
  readonly inlinedVariables: readonly string[];
}

/** What a process started with an assignment gets. */
export interface AssignedLaunch {
  readonly argv: readonly string[];
  /** As {@link Service.environment}; may hold secrets. */
  readonly environment: Readonly<Record<string, string>>;
}

/**
 * Writes the values of an assignment into a service: only the swept flags and variables change,
 * everything else stays byte for byte.
 *
 * `options` must be those the service was read with. The result is read back: it starts exactly
 * {@link assignedLaunch}.
 *
 * @throws UserError for flags or values that the version refuses, and for a service in which the
 *   change cannot be made safely.
 */
export function emitUnit(
  service: Service,
  assignment: Assignment,
  help: HelpText,
  options: EmitOptions,
): EmittedService {
  requireSglangLaunch(service);
  const changes = variableChanges(service, assignment);
  const withVariables = reread(service, environmentEdits(service, changes), options);
  const applied = applyAssignment(withVariables.argv, assignment, help, options);
  const { edits, inlined } = commandEdits(withVariables, applied.edits);
  const emitted = reread(withVariables, [{ file: withVariables.command.file, edits }], options);
  const differs =
    emitted.argv.length !== applied.argv.length ||
    emitted.argv.some((word, i) => word !== applied.argv[i]) ||
    [...changes].some(([name, value]) => emitted.environment[name] !== value);
  // Not the words themselves: they may hold a key.
  if (differs) throw new Error('the emitted unit does not start what was asked');
  return {
    files: emitted.files.map(({ path, text }) => ({ path, text })),
    service: emitted,
    inlinedVariables: inlined,
  };
}

/** Argv and environment of the service with an assignment; the files stay as they are. */
export function assignedLaunch(
  service: Service,
  assignment: Assignment,
  help: HelpText,
  options: EmitOptions,
): AssignedLaunch {
  const { argv, environment } = emitUnit(service, assignment, help, options).service;
  return { argv, environment };
}

function reread(
  service: Service,
  changes: readonly FileEdits[],
  options: ReadServiceOptions,
): Service {
  const edits = changes.filter((change) => change.edits.length > 0);
  if (edits.length === 0) return service;
  const sources = service.files.map(({ path, text }, file) => ({
    path,
    text: applyTextEdits(
      text,
      edits.filter((change) => change.file === file).flatMap((change) => change.edits),
    ),
  }));
  return readService(sources, options);
}
